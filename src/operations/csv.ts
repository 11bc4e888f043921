// CSV import: a header that names the columns, then a record per plant.

import { ApiError } from "../core/contract/errors.ts";
import { type FieldName, fieldNames, isRequired } from "../core/contract/fields.ts";
import { type NewPlantFields, parseNewPlantFields } from "../core/contract/plant.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import { OperatorError } from "../core/operator-error.ts";
import { type CsvCells, type Delimiter, parseCsvRecords } from "./csv-records.ts";
import {
  type ImportRecord,
  isLongerThan,
  reportedBytes,
  reportText,
  tooLongRecord,
} from "./import-record.ts";

const lineFeed = 0x0a;
const quote = 0x22;
const lineEnd = Uint8Array.of(lineFeed);
const byteOrderMark = Buffer.from("\ufeff");

/** The named delimiters of --delimiter. */
export const delimiterNames: ReadonlyMap<string, Delimiter> = new Map([
  ["comma", ","],
  ["semicolon", ";"],
  ["tab", "\t"],
]);

/** The index of each column; -1 or undefined if it is missing. */
interface ColumnIndexes extends Readonly<Partial<Record<FieldName, number>>> {
  readonly id: number;
  readonly name: number;
}

/** Columns that the operator chose, which replace those of the header. */
export interface ChosenColumns extends ColumnIndexes {
  /** Whether the first record is a header, and not a plant. */
  readonly hasHeader: boolean;
}

interface Columns extends ColumnIndexes {
  readonly count: number;
}

/** How a file is read. NDJSON has only a limit. */
export interface ReadOptions {
  readonly recordBytesMax: number;
  readonly delimiter: Delimiter;
  /** Taken from the header if undefined. */
  readonly columns?: ChosenColumns | undefined;
  /** Called with the header of the file, unchanged. */
  readonly onHeader?: ((header: string) => void) | undefined;
}

/**
 * Yields the records of a CSV stream, as many at a time as a chunk completes. Throws an
 * OperatorError if the header does not name id and name, or if a quote is open at the end.
 */
export async function* csvRecords(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<readonly ImportRecord[]> {
  const reader = new CsvReader(options);
  for await (const chunk of chunks) yield reader.read(chunk);
  yield reader.readRest();
  reader.assertComplete();
}

/** A record over the limit, of which only the start is kept. */
interface SkippedRecord {
  isInQuotes: boolean;
  readonly start: Uint8Array;
  readonly line: number;
}

class CsvReader {
  readonly #options: ReadOptions;
  #columns: Columns | undefined;
  /** The line of the next record. */
  #line = 1;
  /** Bytes of a record that has not ended. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** A record that spans many chunks is parsed again only when its size has doubled. */
  #parseFromBytes = 0;
  #skipped: SkippedRecord | undefined;

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  /** Returns the records that a chunk completes. */
  read(chunk: Uint8Array): ImportRecord[] {
    const records: ImportRecord[] = [];
    const rest = chunk.subarray(this.#skip(chunk, records));
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes < this.#parseFromBytes) {
      // A copy, because the source may reuse its buffer. Buffer.slice would not copy.
      this.#pending.push(new Uint8Array(rest));
      return records;
    }
    const bytes = this.#pending.length === 0 ? rest : Buffer.concat([...this.#pending, rest]);
    const parsed = this.#parseRecords(bytes.subarray(0, bytes.lastIndexOf(lineFeed) + 1), records);
    this.#keep(new Uint8Array(bytes.subarray(parsed)));
    return records;
  }

  /** Returns the record that the end of the stream completes. */
  readRest(): ImportRecord[] {
    const records: ImportRecord[] = [];
    if (this.#skipped !== undefined && !this.#skipped.isInQuotes) this.#skip(lineEnd, records);
    const bytes = Buffer.concat(this.#pending);
    this.#keep(new Uint8Array(bytes.subarray(this.#parseRecords(bytes, records))));
    return records;
  }

  /** Throws an OperatorError unless the stream ended with a record, and had a header. */
  assertComplete(): void {
    if (this.#pendingBytes > 0 || this.#skipped !== undefined) {
      throw new OperatorError(
        `the record in line ${this.#skipped?.line ?? this.#line} does not end: a quote is not closed; correct it, and import the file again to continue`,
      );
    }
    if (this.#columns === undefined) throw new OperatorError(`the file has no header; ${headerAdvice}`);
  }

  /** Keeps the bytes of a record that has not ended, or its start if it is too long. */
  #keep(bytes: Uint8Array): void {
    const isTooLong = bytes.length > this.#options.recordBytesMax;
    this.#pending = isTooLong || bytes.length === 0 ? [] : [bytes];
    this.#pendingBytes = isTooLong ? 0 : bytes.length;
    this.#parseFromBytes = Math.min(2 * this.#pendingBytes, this.#options.recordBytesMax + 1);
    if (!isTooLong) return;
    this.#assertNoHeader(this.#line);
    this.#skipped = { isInQuotes: false, start: bytes.slice(0, reportedBytes), line: this.#line };
    this.#skip(bytes, []);
  }

  /** Skips a record that is too long, to a line end after an even number of quotes. */
  #skip(bytes: Uint8Array, records: ImportRecord[]): number {
    const skipped = this.#skipped;
    if (skipped === undefined) return 0;
    for (let at = 0; at < bytes.length; at++) {
      if (bytes[at] === quote) skipped.isInQuotes = !skipped.isInQuotes;
      if (bytes[at] !== lineFeed) continue;
      this.#line++;
      if (skipped.isInQuotes) continue;
      const { line, start } = skipped;
      records.push(tooLongRecord(line, reportText(start), this.#options.recordBytesMax));
      this.#skipped = undefined;
      return at + 1;
    }
    return bytes.length;
  }

  /** Throws an OperatorError for a record that is too long, if it is the header. */
  #assertNoHeader(line: number): void {
    if (this.#columns !== undefined || this.#options.columns?.hasHeader === false) return;
    throw new OperatorError(
      `the header in line ${line} is longer than ${this.#options.recordBytesMax} bytes; ${headerAdvice}`,
    );
  }

  /** Adds the complete records, and returns the number of their bytes. */
  #parseRecords(bytes: Uint8Array, records: ImportRecord[]): number {
    const markBytes = this.#line === 1 && hasByteOrderMark(bytes) ? byteOrderMark.length : 0;
    const own = bytes.subarray(markBytes);
    const text = decodeUtf8(own, "kept");
    if (text === undefined) return markBytes + this.#parseRecordsOneByOne(own, records);
    const end = parseCsvRecords(text, 0, this.#options.delimiter, (cells, start, recordEnd) =>
      this.#add(cells, text.slice(start, recordEnd), records),
    );
    return end === text.length ? bytes.length : markBytes + Buffer.byteLength(text.slice(0, end));
  }

  /** #parseRecords for bytes that are not UTF-8: in Latin-1 each byte is a character. */
  #parseRecordsOneByOne(bytes: Uint8Array, records: ImportRecord[]): number {
    const characters = Buffer.from(bytes).toString("latin1");
    return parseCsvRecords(characters, 0, this.#options.delimiter, (_, start, end) => {
      const own = bytes.subarray(start, end);
      const text = decodeUtf8(own, "kept");
      if (text === undefined) this.#add({ error: "invalid UTF-8" }, reportText(own), records);
      else if (text === "") this.#add([], text, records);
      else parseCsvRecords(text, 0, this.#options.delimiter, (cells) => this.#add(cells, text, records));
    });
  }

  #add(cells: CsvCells, text: string, records: ImportRecord[]): void {
    const line = this.#line;
    this.#line += countLines(text);
    if (text.trim() === "") return;
    const isTooLong = isLongerThan(text, this.#options.recordBytesMax);
    if (this.#columns === undefined) {
      if (isTooLong) this.#assertNoHeader(line);
      this.#columns = this.#parseColumns(cells, text);
      if (this.#options.columns === undefined || this.#options.columns.hasHeader) {
        this.#options.onHeader?.(text);
        return;
      }
    }
    if (isTooLong) records.push(tooLongRecord(line, text, this.#options.recordBytesMax));
    else records.push({ line, text, plant: this.#toPlant(cells, this.#columns) });
  }

  #parseColumns(cells: CsvCells, text: string): Columns {
    if (this.#options.columns === undefined) return parseHeader(cells, text, this.#options.delimiter);
    if ("error" in cells) throw new OperatorError(`the first line is not CSV in UTF-8: ${cells.error}`);
    return { ...this.#options.columns, count: cells.length };
  }

  #toPlant(cells: CsvCells, columns: Columns): ImportRecord["plant"] {
    if ("error" in cells)
      return new ApiError("invalidJson", `The record is not CSV in UTF-8: ${cells.error}.`);
    if (cells.length !== columns.count) {
      return new ApiError(
        "invalidJson",
        `The record has ${cells.length} cells, but the ${this.#options.columns?.hasHeader === false ? "first line" : "header"} has ${columns.count}: a cell that contains a ${delimiterName(this.#options.delimiter)}, a quote or a line end must be quoted.`,
      );
    }
    const fields: { -readonly [Field in keyof NewPlantFields]: NewPlantFields[Field] } = {
      id: cells[columns.id],
    };
    for (const field of fieldNames) fields[field] = cells[columns[field] ?? -1];
    return parseNewPlantFields(fields);
  }
}

const requiredColumns = ["id", ...fieldNames.filter(isRequired)];
const optionalColumns = fieldNames.filter((field) => !isRequired(field));
const headerAdvice = `its first line must name the columns ${requiredColumns.join(" and ")}, and may name ${optionalColumns.join(", ")}`;

/** @param text The header as it is in the file. */
function parseHeader(cells: CsvCells, text: string, delimiter: Delimiter): Columns {
  const error = headerError(cells);
  if (error !== undefined || "error" in cells) {
    const other = [...delimiterNames].find(([, each]) => each !== delimiter && isHeader(text, each));
    const advice =
      other === undefined
        ? headerAdvice
        : `its columns are separated by ${other[0]}s: give --delimiter ${other[0]}`;
    throw new OperatorError(`${error}; ${advice}`);
  }
  const names = columnNames(cells);
  return {
    id: names.indexOf("id"),
    name: names.indexOf("name"),
    ...Object.fromEntries(optionalColumns.map((field) => [field, names.indexOf(field)])),
    count: names.length,
  };
}

/** Why cells are not a header; undefined if they are one. */
function headerError(cells: CsvCells): string | undefined {
  if ("error" in cells) return `the header is not CSV in UTF-8: ${cells.error}`;
  const names = columnNames(cells);
  const missing = requiredColumns.filter((name) => !names.includes(name));
  if (missing.length > 0)
    return `the header has no column ${missing.join(" and no ")}; it has ${describeColumns(cells)}`;
  const twice = ["id", ...fieldNames].filter((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice.length > 0) return `the header has the column ${twice.join(" and ")} twice`;
  return undefined;
}

function isHeader(text: string, delimiter: Delimiter): boolean {
  const records: CsvCells[] = [];
  parseCsvRecords(text, 0, delimiter, (cells) => records.push(cells));
  const [cells] = records;
  return cells !== undefined && headerError(cells) === undefined;
}

/** Spreadsheets also write `ID` and ` Name`. trim removes a byte order mark too. */
function columnNames(cells: readonly (string | undefined)[]): string[] {
  return cells.map((cell) => (cell ?? "").trim().toLowerCase());
}

/** Bounded, because the file may contain anything. */
function describeColumns(cells: readonly (string | undefined)[]): string {
  const columnsMax = 10;
  const charactersMax = 30;
  const shown = cells.slice(0, columnsMax).map((cell = "") => {
    const text = cell.trim();
    return JSON.stringify(text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text);
  });
  const rest = cells.length > columnsMax ? ` and ${cells.length - columnsMax} more` : "";
  return `${cells.length === 1 ? "the one column" : "the columns"} ${shown.join(", ")}${rest}`;
}

function delimiterName(delimiter: Delimiter): string {
  const [name] = [...delimiterNames].find(([, each]) => each === delimiter) ?? [JSON.stringify(delimiter)];
  return name;
}

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return byteOrderMark.every((byte, index) => bytes[index] === byte);
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}
