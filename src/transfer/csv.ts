// CSV: a header that names the columns, and a record for each plant.

import { ApiError } from "../contract/errors.ts";
import { parseNewPlantFields } from "../contract/plant.ts";
import { decodeUtf8 } from "../contract/utf8.ts";
import { OperatorError } from "../operator-error.ts";
import { type CsvCells, type Delimiter, readCsvRecords } from "./csv-records.ts";
import { type ImportRecord, isLongerThan, recordTooLong, reportText } from "./import-record.ts";
import { linesOf } from "./lines.ts";

const byteOrderMark = Buffer.from("\ufeff");

/** Delimiters that have a name: as `--delimiter` gives them, and as an error offers them. */
export const delimiterNames: ReadonlyMap<string, Delimiter> = new Map([
  ["comma", ","],
  ["semicolon", ";"],
  ["tab", "\t"],
]);

/** Where the columns are; -1 where there is none. */
interface Columns {
  readonly id: number;
  readonly name: number;
  readonly tag: number;
  readonly count: number;
}

/**
 * The entries of a CSV stream, as many at a time as came with one chunk. Throws an OperatorError where nobody can tell
 * the records apart: without a header that names id and name, or behind a quote that is not closed.
 */
export async function* csvEntries(
  chunks: AsyncIterable<Uint8Array>,
  recordBytesMax: number,
  delimiter: Delimiter,
): AsyncGenerator<readonly ImportRecord[]> {
  const reader = new CsvReader(recordBytesMax, delimiter);
  for await (const { kind, bytes } of linesOf(chunks, recordBytesMax)) {
    if (kind === "recordTooLong") throw reader.unreadable();
    yield reader.read(bytes);
  }
  yield reader.end();
}

class CsvReader {
  readonly #recordBytesMax: number;
  readonly #delimiter: Delimiter;
  #columns: Columns | undefined;
  /** The line that the next record starts in. */
  #line = 1;
  /** Lines that were not read yet, because their record may not have ended. */
  #open: Uint8Array[] = [];
  #openBytes = 0;
  /** A record that grows over many chunks is read again when it has doubled, and not with each of them. */
  #readFromBytes = 0;

  constructor(recordBytesMax: number, delimiter: Delimiter) {
    this.#recordBytesMax = recordBytesMax;
    this.#delimiter = delimiter;
  }

  /** The entries that whole lines complete. */
  read(lines: Uint8Array): ImportRecord[] {
    this.#openBytes += lines.length;
    if (this.#openBytes < this.#readFromBytes) {
      this.#open.push(new Uint8Array(lines));
      return [];
    }
    const bytes = this.#open.length === 0 ? lines : Buffer.concat([...this.#open, lines]);
    const entries: ImportRecord[] = [];
    const rest = new Uint8Array(bytes.subarray(this.#readRecords(bytes, entries)));
    if (rest.length > this.#recordBytesMax) throw this.unreadable();
    this.#open = rest.length === 0 ? [] : [rest];
    this.#openBytes = rest.length;
    this.#readFromBytes = 2 * rest.length;
    return entries;
  }

  /** The entries that the end of the stream completes. */
  end(): ImportRecord[] {
    this.#readFromBytes = 0;
    const entries = this.read(new Uint8Array());
    if (this.#openBytes > 0) throw this.unreadable();
    if (this.#columns === undefined) throw new OperatorError(`the file has no header; ${whatTheHeaderNames}`);
    return entries;
  }

  unreadable(): OperatorError {
    return new OperatorError(
      `the record in line ${this.#line} does not end within ${this.#recordBytesMax} bytes or the file, as if a quote were not closed; mend it and run the same command again: it goes on`,
    );
  }

  /** Reads what is complete, and gives the number of bytes that it took. */
  #readRecords(bytes: Uint8Array, entries: ImportRecord[]): number {
    const whole = this.#line === 1 && hasByteOrderMark(bytes) ? byteOrderMark.length : 0;
    const own = bytes.subarray(whole);
    const text = decodeUtf8(own, "kept");
    if (text === undefined) return whole + this.#readRecordsSingly(own, entries);
    const end = readCsvRecords(text, 0, this.#delimiter, (cells, start, recordEnd) =>
      this.#add(cells, text.slice(start, recordEnd), entries),
    );
    return end === text.length ? bytes.length : whole + Buffer.byteLength(text.slice(0, end));
  }

  /** The same where at least one record is not UTF-8: in Latin-1 each byte is a character, and ASCII is ASCII. */
  #readRecordsSingly(bytes: Uint8Array, entries: ImportRecord[]): number {
    const characters = Buffer.from(bytes).toString("latin1");
    return readCsvRecords(characters, 0, this.#delimiter, (_, start, end) => {
      const own = bytes.subarray(start, end);
      const text = decodeUtf8(own, "kept");
      if (text === undefined) this.#add({ fault: "it is not UTF-8" }, reportText(own), entries);
      else if (text === "") this.#add([], text, entries);
      else readCsvRecords(text, 0, this.#delimiter, (cells) => this.#add(cells, text, entries));
    });
  }

  #add(cells: CsvCells, text: string, entries: ImportRecord[]): void {
    const line = this.#line;
    this.#line += linesIn(text);
    if (text.trim() === "") return;
    if (this.#columns === undefined) this.#columns = columnsOf(cells, text, this.#delimiter);
    else entries.push({ line, text, plant: this.#toPlant(cells, text, this.#columns) });
  }

  #toPlant(cells: CsvCells, text: string, columns: Columns): ImportRecord["plant"] {
    if ("fault" in cells)
      return new ApiError("invalidJson", `The record is not CSV in UTF-8: ${cells.fault}.`);
    if (cells.length !== columns.count) {
      return new ApiError(
        "invalidJson",
        `The record has ${cells.length} cells, but the header ${columns.count}: a cell with a ${nameOf(this.#delimiter)}, a quote or a line end must be in quotes.`,
      );
    }
    if (isLongerThan(text, this.#recordBytesMax)) return recordTooLong(this.#recordBytesMax);
    return parseNewPlantFields({
      id: cells[columns.id],
      name: cells[columns.name],
      tag: cells[columns.tag],
    });
  }
}

const whatTheHeaderNames = "its first line must name the columns: id, name, and tag if there are tags";

/** @param text The header as it stands there. */
function columnsOf(cells: CsvCells, text: string, delimiter: Delimiter): Columns {
  const fault = headerFault(cells);
  if (fault !== undefined || "fault" in cells) {
    const other = [...delimiterNames].find(([, each]) => each !== delimiter && isHeader(text, each));
    const advice =
      other === undefined
        ? whatTheHeaderNames
        : `its columns are separated by ${other[0]}s: give --delimiter ${other[0]}`;
    throw new OperatorError(`${fault}; ${advice}`);
  }
  const names = columnNames(cells);
  return {
    id: names.indexOf("id"),
    name: names.indexOf("name"),
    tag: names.indexOf("tag"),
    count: names.length,
  };
}

/** Why cells are no header; undefined if they are one. */
function headerFault(cells: CsvCells): string | undefined {
  if ("fault" in cells) return `the header is not CSV in UTF-8: ${cells.fault}`;
  const names = columnNames(cells);
  const missing = ["id", "name"].filter((name) => !names.includes(name));
  if (missing.length > 0)
    return `the header has no column ${missing.join(" and no ")}; it has ${shownColumns(cells)}`;
  const twice = ["id", "name", "tag"].filter((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice.length > 0) return `the header has the column ${twice.join(" and ")} twice`;
  return undefined;
}

function isHeader(text: string, delimiter: Delimiter): boolean {
  const records: CsvCells[] = [];
  readCsvRecords(text, 0, delimiter, (cells) => records.push(cells));
  const [cells] = records;
  return cells !== undefined && headerFault(cells) === undefined;
}

/** Spreadsheets write `ID` and ` Name` as well. trim takes a byte order mark for space. */
function columnNames(cells: readonly (string | undefined)[]): string[] {
  return cells.map((cell) => (cell ?? "").trim().toLowerCase());
}

/** The file may be anything: not much of it belongs in an error. */
function shownColumns(cells: readonly (string | undefined)[]): string {
  const columnsMax = 10;
  const charactersMax = 30;
  const shown = cells.slice(0, columnsMax).map((cell = "") => {
    const text = cell.trim();
    return JSON.stringify(text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text);
  });
  const rest = cells.length > columnsMax ? ` and ${cells.length - columnsMax} more` : "";
  return `${cells.length === 1 ? "the one column" : "the columns"} ${shown.join(", ")}${rest}`;
}

function nameOf(delimiter: Delimiter): string {
  const [name] = [...delimiterNames].find(([, each]) => each === delimiter) ?? [JSON.stringify(delimiter)];
  return name;
}

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return byteOrderMark.every((byte, index) => bytes[index] === byte);
}

function linesIn(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}
