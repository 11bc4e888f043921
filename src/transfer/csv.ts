// Parses CSV for an import: a header that names the columns, then a record per plant.

import { ApiError } from "../base/errors.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Collection, Field } from "../contract/contract.ts";
import {
  type CsvCells,
  completeBytes,
  countLineEnds,
  type Delimiter,
  delimiters,
  type OnCsvRecord,
  parseCsvRecords,
} from "./csv-records.ts";
import type { RecordFormat } from "./line-reader.ts";
import {
  booleanText,
  columnGivenTwice,
  type MemberColumn,
  memberColumns,
  objectText,
} from "./member-columns.ts";
import { parsePlantTexts } from "./plant-texts.ts";
import type { ImportRecord, RecordOptions } from "./record-reader.ts";

/** The indexes of the columns; -1 for one that is missing. */
interface Columns {
  readonly id: number;
  /** In the order of the contract's fields. */
  readonly fields: readonly number[];
  /** The columns of members, such as address.city, by the index of their field. */
  readonly members: ReadonlyMap<number, readonly MemberColumn[]>;
  readonly count: number;
}

/** The header of a CSV file. */
export interface CsvHeader {
  /** As it came. */
  readonly text: string;
  readonly delimiter: Delimiter;
  /** The optional fields without a column. */
  readonly absent: readonly Field[];
  /** The columns that are not read. */
  readonly ignored: readonly string[];
}

const byteOrderMark = 0xfeff;

/** How a file is read. */
export interface ReadOptions extends RecordOptions {
  readonly onHeader?: ((header: CsvHeader) => void) | undefined;
}

export class Csv implements RecordFormat<CsvCells> {
  readonly completeBytes = completeBytes;
  readonly countLineEnds = countLineEnds;
  readonly #collection: Collection;
  readonly #onHeader: ReadOptions["onHeader"];
  readonly #ids: ReadOptions["ids"];
  /** The columns that the header must name. */
  readonly #required: readonly string[];
  #columns: Columns | undefined;
  #header = "";
  #delimiter: Delimiter = ",";

  constructor(collection: Collection, { onHeader, ids }: ReadOptions) {
    this.#collection = collection;
    this.#onHeader = onHeader;
    this.#ids = ids;
    const required = collection.fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
    this.#required = ids === undefined ? [collection.id.name, ...required] : required;
  }

  parse(text: string, onRecord: OnCsvRecord): number {
    if (this.#columns === undefined) this.#delimiter = findDelimiter(this.#collection, this.#required, text);
    return parseCsvRecords(text, this.#delimiter, onRecord);
  }

  invalid(): CsvCells {
    return { error: "invalid UTF-8" };
  }

  toPlant(cells: CsvCells, text: string): ImportRecord["plant"] | undefined {
    // A row that was emptied in a spreadsheet has delimiters only.
    if (text.trim() === "" || ("every" in cells && cells.every((cell) => cell === undefined)))
      return undefined;
    if (this.#columns === undefined && separatorLine.test(text)) return undefined;
    if (this.#columns === undefined) {
      const { columns, ignored } = parseHeader(this.#collection, this.#required, cells, text);
      this.#columns = columns;
      this.#header = text;
      const absent = this.#collection.fields.filter(
        (_, index) => columns.fields[index] === -1 && !columns.members.has(index),
      );
      this.#onHeader?.({ text, delimiter: this.#delimiter, absent, ignored });
      return undefined;
    }
    // The start of another file with the same columns, where two were joined.
    const own = text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text;
    if (own === this.#header) return undefined;
    return this.#parseCells(cells, this.#columns);
  }

  assertHeader(): void {
    if (this.#columns === undefined)
      throw new OperatorError(`the file has no header; ${headerAdvice(this.#collection, this.#required)}`);
  }

  #parseCells(cells: CsvCells, columns: Columns): ImportRecord["plant"] {
    if ("error" in cells)
      return new ApiError("invalidJson", `The record is not CSV in UTF-8: ${cells.error}.`);
    if (cells.length !== columns.count) {
      const advice =
        cells.length < columns.count
          ? "write an empty cell for each value that is missing"
          : "a cell that contains the delimiter, a quote or a line end must be quoted";
      return new ApiError(
        "invalidJson",
        `The record has ${cells.length} cell${cells.length === 1 ? "" : "s"}, but the header has ${columns.count}: ${advice}.`,
      );
    }
    const values = this.#collection.fields.map((field, index) => {
      const members = columns.members.get(index);
      const cell = cells[columns.fields[index] ?? -1];
      if (members !== undefined) return cell ?? objectText(field, members, cells);
      return cell !== undefined && field.type.input === "boolean" ? booleanText(cell) : cell;
    });
    return parsePlantTexts(this.#collection, { id: cells[columns.id], values }, this.#ids?.make);
  }
}

/** The names of the columns of the id and the fields. */
export function columnNames({ id, fields }: Pick<Collection, "id" | "fields">): string[] {
  return [id.name, ...fields.map(({ name }) => name)];
}

function headerAdvice(collection: Collection, required: readonly string[]): string {
  const optional = columnNames(collection).filter((name) => !required.includes(name));
  if (required.length === 0) return `its first line must name some of the columns ${optional.join(", ")}`;
  const others = optional.length === 0 ? "" : `, and may name ${optional.join(", ")}`;
  return `its first line must name the columns ${required.join(" and ")}${others}`;
}

/** The delimiter with which the header has all required columns; the comma if none does. */
function findDelimiter(collection: Collection, required: readonly string[], text: string): Delimiter {
  const hasRequired = (delimiter: Delimiter) => {
    let header: CsvCells | undefined;
    parseCsvRecords(text, delimiter, (cells, start, end) => {
      const line = text.slice(start, end);
      if (line.trim() !== "" && !separatorLine.test(line)) header ??= cells;
    });
    if (header === undefined || "error" in header) return false;
    const places = placesOf(collection, header);
    const given = header;
    return required.every((name) => isGiven(name, places, given)) && hasColumn(places);
  };
  return delimiters.find(hasRequired) ?? ",";
}

/** Whether a header has a column with a name, or those of its members. */
function isGiven(
  name: string,
  places: ReadonlyMap<string, readonly number[]>,
  cells: readonly (string | undefined)[],
): boolean {
  return places.get(name)?.length !== 0 || cells.some((cell) => cell?.trim().startsWith(`${name}.`));
}

/** A file may need no column in particular. */
function hasColumn(places: ReadonlyMap<string, readonly number[]>): boolean {
  return [...places.values()].some(({ length }) => length > 0);
}

/** Excel reads and writes a first line that names the delimiter. */
const separatorLine = /^"?sep=.?"?$/i;

function parseHeader(
  collection: Collection,
  required: readonly string[],
  cells: CsvCells,
  text: string,
): { readonly columns: Columns; readonly ignored: readonly string[] } {
  const invalid = (error: string) => new OperatorError(`${error}; ${headerAdvice(collection, required)}`);
  if ("error" in cells) throw invalid(`the header is not CSV in UTF-8: ${cells.error}`);
  const places = placesOf(collection, cells);
  const missing = required.filter((name) => !isGiven(name, places, cells));
  if (missing.length > 0)
    throw invalid(`the header has no column ${missing.join(" and no ")}; it is ${shorten(text)}`);
  if (!hasColumn(places)) throw invalid(`the header has no column of a field; it is ${shorten(text)}`);
  const twice = [...places].flatMap(([name, { length }]) => (length > 1 ? [name] : []));
  if (twice.length > 0) throw invalid(`the header has the column ${twice.join(" and ")} twice`);
  const own = new Set([...places.values()].flat());
  const members = memberColumns(
    collection.fields,
    cells.map((cell, index) => (own.has(index) ? undefined : cell)),
  );
  for (const columns of members.values()) {
    const again = columnGivenTwice(columns);
    if (again !== undefined) throw invalid(`the header has two columns for ${cells[again.index]?.trim()}`);
  }
  const read = own.union(new Set([...members.values()].flat().map(({ index }) => index)));
  const indexOf = (name: string) => places.get(name)?.[0] ?? -1;
  return {
    columns: {
      id: indexOf(collection.id.name),
      fields: collection.fields.map(({ name }) => indexOf(name)),
      members,
      count: cells.length,
    },
    ignored: [...new Set(cells.flatMap((cell, index) => (read.has(index) ? [] : [cell || "(no name)"])))],
  };
}

/** The name of a column for comparison. */
export function foldedName(name: string): string {
  return name.trim().toLowerCase();
}

/**
 * The names under which an export also has when and by whom a plant was created. The contract may
 * have one of them, in any case.
 */
export function creationNames(collection: Collection): string[] {
  const isTaken = (wanted: string) =>
    columnNames(collection).some((name) => foldedName(name) === foldedName(wanted));
  return ["createdAt", "token"].map((name) => (isTaken(name) ? `store.${name}` : name));
}

/** Ways in which a cell may have the name of a column. trim removes a byte order mark too. */
const readings = [(name: string) => name, (name: string) => name.trim(), foldedName];

/**
 * The indexes of each column: of cells with its name, or else, as spreadsheets also write `ID` and
 * ` Name`, of those that have it in another case, unless several columns then have it.
 */
function placesOf(collection: Collection, cells: readonly (string | undefined)[]): Map<string, number[]> {
  const names = columnNames(collection);
  const places = new Map(names.map((name): [string, number[]] => [name, []]));
  for (const [index, cell = ""] of cells.entries()) {
    const found = readings
      .map((reading) => names.filter((name) => reading(name) === reading(cell)))
      .find(({ length }) => length > 0);
    if (found?.length === 1) places.get(found[0] as string)?.push(index);
  }
  return places;
}

/** Bounded, because the file may contain anything. */
function shorten(text: string): string {
  const charactersMax = 100;
  return JSON.stringify(text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text);
}
