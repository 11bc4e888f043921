// CSV: a header that names the columns, and a record for each plant.

import { ContractError } from "../contract/errors.ts";
import { newPlantFromTexts } from "../contract/plant.ts";
import { decodeUtf8 } from "../contract/utf8.ts";
import { OperatorError } from "../operator-error.ts";
import { type CsvCells, readCsvRecords } from "./csv-text.ts";
import { type Entry, isLongerThan, overlong, reportText } from "./entry.ts";
import { linesOf } from "./lines.ts";

const byteOrderMark = Buffer.from("\ufeff");

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
): AsyncGenerator<readonly Entry[]> {
  const reader = new CsvReader(recordBytesMax);
  for await (const { kind, bytes } of linesOf(chunks, recordBytesMax)) {
    if (kind === "overlong") throw reader.unreadable();
    yield reader.read(bytes);
  }
  yield reader.end();
}

class CsvReader {
  readonly #recordBytesMax: number;
  #columns: Columns | undefined;
  /** The line that the next record starts in. */
  #line = 1;
  /** Lines that were not read yet, because their record may not have ended. */
  #open: Uint8Array[] = [];
  #openBytes = 0;
  /** A record that grows over many chunks is read again when it has doubled, and not with each of them. */
  #readFromBytes = 0;

  constructor(recordBytesMax: number) {
    this.#recordBytesMax = recordBytesMax;
  }

  /** The entries that whole lines complete. */
  read(lines: Uint8Array): Entry[] {
    this.#openBytes += lines.length;
    if (this.#openBytes < this.#readFromBytes) {
      this.#open.push(new Uint8Array(lines));
      return [];
    }
    const bytes = this.#open.length === 0 ? lines : Buffer.concat([...this.#open, lines]);
    const entries: Entry[] = [];
    const rest = new Uint8Array(bytes.subarray(this.#readRecords(bytes, entries)));
    if (rest.length > this.#recordBytesMax) throw this.unreadable();
    this.#open = rest.length === 0 ? [] : [rest];
    this.#openBytes = rest.length;
    this.#readFromBytes = 2 * rest.length;
    return entries;
  }

  /** The entries that the end of the stream completes. */
  end(): Entry[] {
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
  #readRecords(bytes: Uint8Array, entries: Entry[]): number {
    const whole = this.#line === 1 && hasByteOrderMark(bytes) ? byteOrderMark.length : 0;
    const own = bytes.subarray(whole);
    const text = decodeUtf8(own, "kept");
    if (text === undefined) return whole + this.#readRecordsSingly(own, entries);
    const end = readCsvRecords(text, 0, (cells, start, recordEnd) =>
      this.#add(cells, text.slice(start, recordEnd), entries),
    );
    return end === text.length ? bytes.length : whole + Buffer.byteLength(text.slice(0, end));
  }

  /** The same where at least one record is not UTF-8: in Latin-1 each byte is a character, and commas are commas. */
  #readRecordsSingly(bytes: Uint8Array, entries: Entry[]): number {
    return readCsvRecords(Buffer.from(bytes).toString("latin1"), 0, (_, start, end) => {
      const own = bytes.subarray(start, end);
      const text = decodeUtf8(own, "kept");
      if (text === undefined) this.#add({ fault: "it is not UTF-8" }, reportText(own), entries);
      else if (text === "") this.#add([], text, entries);
      else readCsvRecords(text, 0, (cells) => this.#add(cells, text, entries));
    });
  }

  #add(cells: CsvCells, text: string, entries: Entry[]): void {
    const line = this.#line;
    this.#line += linesIn(text);
    if (text.trim() === "") return;
    if (this.#columns === undefined) this.#columns = columnsOf(cells);
    else entries.push({ line, text, plant: this.#plantOf(cells, text, this.#columns) });
  }

  #plantOf(cells: CsvCells, text: string, columns: Columns): Entry["plant"] {
    if ("fault" in cells)
      return new ContractError("notJson", `The record is not CSV in UTF-8: ${cells.fault}.`);
    if (cells.length !== columns.count) {
      return new ContractError(
        "notJson",
        `The record has ${cells.length} cells, but the header ${columns.count}: a cell with a comma, a quote or a line end must be in quotes.`,
      );
    }
    if (isLongerThan(text, this.#recordBytesMax)) return overlong(this.#recordBytesMax);
    return newPlantFromTexts({
      id: cells[columns.id],
      name: cells[columns.name],
      tag: cells[columns.tag],
    });
  }
}

const whatTheHeaderNames = "its first line must name the columns: id, name, and tag if there are tags";

function columnsOf(cells: CsvCells): Columns {
  if ("fault" in cells)
    throw new OperatorError(`the header is not CSV in UTF-8: ${cells.fault}; ${whatTheHeaderNames}`);
  const missing = ["id", "name"].filter((name) => !cells.includes(name));
  const twice = ["id", "name", "tag"].filter((name) => cells.indexOf(name) !== cells.lastIndexOf(name));
  if (missing.length > 0)
    throw new OperatorError(`the header has no column ${missing.join(" and no ")}; ${whatTheHeaderNames}`);
  if (twice.length > 0)
    throw new OperatorError(`the header has the column ${twice.join(" and ")} twice; ${whatTheHeaderNames}`);
  return {
    id: cells.indexOf("id"),
    name: cells.indexOf("name"),
    tag: cells.indexOf("tag"),
    count: cells.length,
  };
}

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return byteOrderMark.every((byte, index) => bytes[index] === byte);
}

function linesIn(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}
