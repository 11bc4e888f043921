// CSV import: a header that names the columns, then a record per plant.

import { ApiError } from "../core/contract/errors.ts";
import {
  type NewPlantFields,
  type OptionalField,
  optionalFields,
  parseNewPlantFields,
} from "../core/contract/plant.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import { OperatorError } from "../core/operator-error.ts";
import { type CsvCells, type Delimiter, parseCsvRecords } from "./csv-records.ts";
import { type ImportRecord, isLongerThan, recordTooLong, reportText } from "./import-record.ts";
import { splitLines } from "./lines.ts";

const byteOrderMark = Buffer.from("\ufeff");

/** The named delimiters of --delimiter. */
export const delimiterNames: ReadonlyMap<string, Delimiter> = new Map([
  ["comma", ","],
  ["semicolon", ";"],
  ["tab", "\t"],
]);

/** The index of each column; -1 or undefined if it is missing. */
interface ColumnIndexes extends Readonly<Partial<Record<OptionalField, number>>> {
  readonly id: number;
  readonly name: number;
}

/** Columns that are chosen, in place of those that a header names. */
export interface ChosenColumns extends ColumnIndexes {
  /** Whether the first record is a header, and not a plant. */
  readonly hasHeader: boolean;
}

interface Columns extends ColumnIndexes {
  readonly count: number;
}

/**
 * The records of a CSV stream, as many at a time as a chunk completes. Throws an OperatorError if the header does not name
 * id and name, or if a quote is not closed.
 */
export async function* csvRecords(
  chunks: AsyncIterable<Uint8Array>,
  recordBytesMax: number,
  delimiter: Delimiter,
  chosen?: ChosenColumns,
): AsyncGenerator<readonly ImportRecord[]> {
  const reader = new CsvReader(recordBytesMax, delimiter, chosen);
  for await (const { kind, bytes } of splitLines(chunks, recordBytesMax)) {
    if (kind === "recordTooLong") throw reader.unterminatedRecord();
    yield reader.read(bytes);
  }
  yield reader.end();
}

class CsvReader {
  readonly #recordBytesMax: number;
  readonly #delimiter: Delimiter;
  readonly #chosen: ChosenColumns | undefined;
  #columns: Columns | undefined;
  /** The line of the next record. */
  #line = 1;
  /** Lines of a record that has not ended. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** A record that spans many chunks is parsed again when its size has doubled, and not after each chunk. */
  #parseFromBytes = 0;

  constructor(recordBytesMax: number, delimiter: Delimiter, chosen: ChosenColumns | undefined) {
    this.#recordBytesMax = recordBytesMax;
    this.#delimiter = delimiter;
    this.#chosen = chosen;
  }

  /** The records that these lines complete. */
  read(lines: Uint8Array): ImportRecord[] {
    this.#pendingBytes += lines.length;
    if (this.#pendingBytes < this.#parseFromBytes) {
      this.#pending.push(new Uint8Array(lines));
      return [];
    }
    const bytes = this.#pending.length === 0 ? lines : Buffer.concat([...this.#pending, lines]);
    const records: ImportRecord[] = [];
    const rest = new Uint8Array(bytes.subarray(this.#parseRecords(bytes, records)));
    if (rest.length > this.#recordBytesMax) throw this.unterminatedRecord();
    this.#pending = rest.length === 0 ? [] : [rest];
    this.#pendingBytes = rest.length;
    this.#parseFromBytes = 2 * rest.length;
    return records;
  }

  /** The records that the end of the stream completes. */
  end(): ImportRecord[] {
    this.#parseFromBytes = 0;
    const records = this.read(new Uint8Array());
    if (this.#pendingBytes > 0) throw this.unterminatedRecord();
    if (this.#columns === undefined) throw new OperatorError(`the file has no header; ${headerAdvice}`);
    return records;
  }

  unterminatedRecord(): OperatorError {
    return new OperatorError(
      `the record in line ${this.#line} does not end within ${this.#recordBytesMax} bytes or the file: a quote may not be closed; correct it, and import the file again to continue`,
    );
  }

  /** Adds the complete records, and returns the number of their bytes. */
  #parseRecords(bytes: Uint8Array, records: ImportRecord[]): number {
    const markBytes = this.#line === 1 && hasByteOrderMark(bytes) ? byteOrderMark.length : 0;
    const own = bytes.subarray(markBytes);
    const text = decodeUtf8(own, "kept");
    if (text === undefined) return markBytes + this.#parseRecordsOneByOne(own, records);
    const end = parseCsvRecords(text, 0, this.#delimiter, (cells, start, recordEnd) =>
      this.#add(cells, text.slice(start, recordEnd), records),
    );
    return end === text.length ? bytes.length : markBytes + Buffer.byteLength(text.slice(0, end));
  }

  /** #parseRecords for bytes of which at least one record is not UTF-8: in Latin-1 each byte is a character, and ASCII stays ASCII. */
  #parseRecordsOneByOne(bytes: Uint8Array, records: ImportRecord[]): number {
    const characters = Buffer.from(bytes).toString("latin1");
    return parseCsvRecords(characters, 0, this.#delimiter, (_, start, end) => {
      const own = bytes.subarray(start, end);
      const text = decodeUtf8(own, "kept");
      if (text === undefined) this.#add({ error: "invalid UTF-8" }, reportText(own), records);
      else if (text === "") this.#add([], text, records);
      else parseCsvRecords(text, 0, this.#delimiter, (cells) => this.#add(cells, text, records));
    });
  }

  #add(cells: CsvCells, text: string, records: ImportRecord[]): void {
    const line = this.#line;
    this.#line += countLines(text);
    if (text.trim() === "") return;
    if (this.#columns === undefined) {
      this.#columns = this.#parseColumns(cells, text);
      if (this.#chosen === undefined || this.#chosen.hasHeader) return;
    }
    records.push({ line, text, plant: this.#toPlant(cells, text, this.#columns) });
  }

  #parseColumns(cells: CsvCells, text: string): Columns {
    if (this.#chosen === undefined) return parseHeader(cells, text, this.#delimiter);
    if ("error" in cells) throw new OperatorError(`the first line is not CSV in UTF-8: ${cells.error}`);
    return { ...this.#chosen, count: cells.length };
  }

  #toPlant(cells: CsvCells, text: string, columns: Columns): ImportRecord["plant"] {
    if ("error" in cells)
      return new ApiError("invalidJson", `The record is not CSV in UTF-8: ${cells.error}.`);
    if (cells.length !== columns.count) {
      return new ApiError(
        "invalidJson",
        `The record has ${cells.length} cells, but the ${this.#chosen?.hasHeader === false ? "first line" : "header"} has ${columns.count}: a cell that contains a ${delimiterName(this.#delimiter)}, a quote or a line end must be quoted.`,
      );
    }
    if (isLongerThan(text, this.#recordBytesMax)) return recordTooLong(this.#recordBytesMax);
    const fields: { -readonly [Field in keyof NewPlantFields]: NewPlantFields[Field] } = {
      id: cells[columns.id],
      name: cells[columns.name],
    };
    for (const field of optionalFields) fields[field] = cells[columns[field] ?? -1];
    return parseNewPlantFields(fields);
  }
}

const headerAdvice = `its first line must name the columns id and name, and may name ${optionalFields.join(", ")}`;

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
    ...Object.fromEntries(optionalFields.map((field) => [field, names.indexOf(field)])),
    count: names.length,
  };
}

/** Why cells are not a header; undefined if they are one. */
function headerError(cells: CsvCells): string | undefined {
  if ("error" in cells) return `the header is not CSV in UTF-8: ${cells.error}`;
  const names = columnNames(cells);
  const missing = ["id", "name"].filter((name) => !names.includes(name));
  if (missing.length > 0)
    return `the header has no column ${missing.join(" and no ")}; it has ${describeColumns(cells)}`;
  const twice = ["id", "name", ...optionalFields].filter(
    (name) => names.indexOf(name) !== names.lastIndexOf(name),
  );
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
