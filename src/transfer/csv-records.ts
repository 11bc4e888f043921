// CSV records: RFC 4180 with the NULL convention of PostgreSQL's COPY: an empty cell is NULL, and a
// quoted empty cell is an empty string. Outside quotes LF, CR LF, CR and CR CR LF end a line: old
// programs of the Mac write CR, and Python on Windows CR CR LF.
//
// import needs the line, the original text and the quoting of each record: csv-parse with these
// options takes ten times as long. A test compares the two.

import type { Collection, Field, Plant } from "../contract/contract.ts";
import { memberCells, memberPaths } from "./member-columns.ts";

/** The cells of a record, or its syntax error. */
export type CsvCells = readonly (string | undefined)[] | { readonly error: string };

/** Called for each record, with the index of its start and of its line end. */
export type OnCsvRecord = (cells: CsvCells, start: number, end: number) => void;

/** The delimiters of files. An export has commas; spreadsheets save others. */
export const delimiters = [",", ";", "\t", "|"] as const;

export type Delimiter = (typeof delimiters)[number];

const needsQuotes = /["\r\n]|^$/;

/** The members that have columns before that of their field. */
export type ExportedMembers = ReadonlyMap<Field, ReturnType<typeof memberPaths>>;

/** The members of objects that an export has in columns, which an import reads as these. */
export function exportedMembers({ id, fields }: Collection): ExportedMembers {
  const names = [id, ...fields].map(({ name }) => name.trim().toLowerCase());
  return new Map(
    fields.flatMap((field) => {
      const { name } = field;
      const isClear =
        name === name.trim() && !names.some((each) => each.startsWith(`${name.toLowerCase()}.`));
      const paths = isClear ? memberPaths(field) : [];
      return paths.length === 0 ? [] : [[field, paths] as const];
    }),
  );
}

/**
 * The record of a plant, without a line end. An id that is the name of its column is quoted, so that
 * its record is not the header of another file.
 */
export function formatCsvRecord(
  { id: { name }, fields }: Collection,
  { id, values }: Plant,
  members: ExportedMembers = new Map(),
): string {
  let record = typeof id === "bigint" ? String(id) : id === name ? quotedCell(id) : formatCsvCell(id);
  for (let index = 0; index < fields.length; index++) {
    const value = values[index];
    const field = fields[index] as Field;
    const paths = members.get(field);
    if (paths !== undefined) {
      for (const cell of memberCells(field, paths, value)) record = `${record},${formatCsvCell(cell)}`;
      continue;
    }
    const text = value === undefined ? undefined : field.type.format(value);
    record = `${record},${formatCsvCell(text)}`;
  }
  return record;
}

/** A cell; an absent value is an empty cell, and an empty one is quoted. */
export function formatCsvCell(value: string | undefined, delimiter: Delimiter = ","): string {
  if (value === undefined) return "";
  const isPlain = !needsQuotes.test(value) && !value.includes(delimiter);
  return isPlain ? value : quotedCell(value);
}

function quotedCell(value: string): string {
  return `"${value.replaceAll('"', '""')}"`;
}

/** The cells of one record; undefined for an error of syntax. */
export function csvCellsOf(text: string, delimiter: Delimiter): readonly (string | undefined)[] | undefined {
  let found: CsvCells | undefined;
  parseCsvRecords(text, delimiter, (cells) => {
    found ??= cells;
  });
  return found === undefined || "error" in found ? undefined : found;
}

/**
 * Parses the records of a text, which ends with a line end or with the file. Returns the index of a
 * last record that does not end within the text, because a quote is open; the text's length if
 * there is none.
 */
export function parseCsvRecords(text: string, delimiter: Delimiter, onRecord: OnCsvRecord): number {
  let at = 0;
  const lines = new LineEnds(text);
  let quote = text.indexOf('"', at);
  while (at < text.length) {
    const end = lines.from(at);
    if (quote !== -1 && quote < at) quote = text.indexOf('"', at);
    if (quote === -1 || quote > end) {
      onRecord(plainCells(text.slice(at, end), delimiter), at, end);
      at = end + lineEndLength(text, end);
      continue;
    }
    const next = parseQuotedRecord(text, at, lines, delimiter, onRecord);
    if (next === undefined) return at;
    at = next;
  }
  return text.length;
}

/** The cells of a line that contains no quotes. */
function plainCells(line: string, delimiter: Delimiter): CsvCells {
  const cells: (string | undefined)[] = [];
  for (let start = 0; ; ) {
    const next = line.indexOf(delimiter, start);
    const end = next === -1 ? line.length : next;
    cells.push(end === start ? undefined : line.slice(start, end));
    if (next === -1) return cells;
    start = next + 1;
  }
}

/** Parses a record with quotes, and returns the index of the next one, if no quote is open. */
function parseQuotedRecord(
  text: string,
  start: number,
  lines: LineEnds,
  delimiter: Delimiter,
  onRecord: OnCsvRecord,
): number | undefined {
  const cells: (string | undefined)[] = [];
  let end = lines.from(start);
  for (let at = start; ; at++) {
    let error: string | undefined;
    if (text[at] === '"') {
      const cellEnd = quotedCellEnd(text, at);
      if (cellEnd === undefined) return undefined;
      cells.push(text.slice(at + 1, cellEnd - 1).replaceAll('""', '"'));
      at = cellEnd;
      // A quoted cell may span lines.
      if (at > end) end = lines.from(at);
    } else {
      // Looked for in the line only: in the whole text, the time would be quadratic.
      const rest = text.slice(at, end);
      const next = rest.indexOf(delimiter);
      const cell = next === -1 ? rest : rest.slice(0, next);
      if (cell.includes('"')) error = "a quote in a cell that is not quoted";
      cells.push(cell === "" ? undefined : cell);
      at += cell.length;
    }
    if (text[at] === delimiter && error === undefined) continue;
    if (at !== end) error ??= "text after the closing quote of a cell";
    onRecord(error === undefined ? cells : { error }, start, end);
    return end + lineEndLength(text, end);
  }
}

/** The index after a quoted cell; undefined if its quote is open. */
function quotedCellEnd(text: string, start: number): number | undefined {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at === -1) return undefined;
    if (text[at + 1] !== '"') return at + 1;
  }
}

/** Looks for line ends in a text, from places that ascend. */
class LineEnds {
  readonly #text: string;
  #lineFeed = -1;
  #carriageReturn = -1;

  constructor(text: string) {
    this.#text = text;
  }

  /** The index of the next line end, or of the text's end. */
  from(at: number): number {
    // Each is looked for once: most files have only one of them.
    if (this.#lineFeed < at) this.#lineFeed = indexOrEnd(this.#text, "\n", at);
    if (this.#carriageReturn < at) this.#carriageReturn = indexOrEnd(this.#text, "\r", at);
    return Math.min(this.#lineFeed, this.#carriageReturn);
  }
}

function indexOrEnd(text: string, character: string, at: number): number {
  const index = text.indexOf(character, at);
  return index === -1 ? text.length : index;
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/** The characters of the line end at an index; 1 at the text's end. */
function lineEndLength(text: string, at: number): number {
  if (text.charCodeAt(at) !== carriageReturn) return 1;
  if (text.charCodeAt(at + 1) === lineFeed) return 2;
  return text.charCodeAt(at + 1) === carriageReturn && text.charCodeAt(at + 2) === lineFeed ? 3 : 1;
}

/** The number of bytes up to the last line end that no further bytes can continue. */
export function completeBytes(bytes: Uint8Array): number {
  const afterFeed = bytes.lastIndexOf(lineFeed) + 1;
  let at = bytes.lastIndexOf(carriageReturn);
  while (at >= afterFeed && mayContinue(bytes[at + 1]))
    at = at === 0 ? -1 : bytes.lastIndexOf(carriageReturn, at - 1);
  return Math.max(afterFeed, at + 1);
}

function mayContinue(next: number | undefined): boolean {
  return next === undefined || next === carriageReturn || next === lineFeed;
}

/** The line ends in a text. */
export function countLineEnds(text: string): number {
  // Most records are one line, which this finds sooner.
  if (!text.includes("\n") && !text.includes("\r")) return 0;
  return text.match(/\r\r\n|\r\n|[\r\n]/g)?.length ?? 0;
}
