// CSV import: a header that names the columns, then a record per plant.

import { ApiError } from "../core/contract/errors.ts";
import { type FieldName, fieldNames, isRequired } from "../core/contract/fields.ts";
import { type NewPlantFields, parseNewPlantFields } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import {
  type CsvCells,
  completeBytes,
  countLineEnds,
  type Delimiter,
  delimiters,
  type OnCsvRecord,
  parseCsvRecords,
} from "./csv-records.ts";
import type { ImportRecord, RecordFormat } from "./record-reader.ts";

const columnNames = ["id", ...fieldNames] as const;

/** The index of each column; -1 if it is missing. */
type ColumnIndexes = Readonly<Record<(typeof columnNames)[number], number>>;

interface Columns extends ColumnIndexes {
  readonly count: number;
}

/** The header of a CSV file. */
export interface CsvHeader {
  /** As it came. */
  readonly text: string;
  readonly delimiter: Delimiter;
  /** The optional fields without a column. */
  readonly absent: readonly FieldName[];
  /** The columns that are not read. */
  readonly ignored: readonly string[];
}

/** How a file is read. NDJSON has only a limit. */
export interface ReadOptions {
  readonly recordBytesMax: number;
  readonly onHeader?: ((header: CsvHeader) => void) | undefined;
}

export class Csv implements RecordFormat<CsvCells> {
  readonly completeBytes = completeBytes;
  readonly countLineEnds = countLineEnds;
  readonly #onHeader: ReadOptions["onHeader"];
  #columns: Columns | undefined;
  #delimiter: Delimiter = ",";

  constructor({ onHeader }: ReadOptions) {
    this.#onHeader = onHeader;
  }

  parse(text: string, onRecord: OnCsvRecord): number {
    if (this.#columns === undefined) this.#delimiter = findDelimiter(text);
    return parseCsvRecords(text, this.#delimiter, onRecord);
  }

  invalid(): CsvCells {
    return { error: "invalid UTF-8" };
  }

  toPlant(cells: CsvCells, text: string): ImportRecord["plant"] | undefined {
    // A row that was emptied in a spreadsheet has delimiters only.
    if (text.trim() === "" || ("every" in cells && cells.every(isAbsent))) return undefined;
    if (this.#columns === undefined) {
      const { columns, ignored } = parseHeader(cells, text);
      this.#columns = columns;
      const absent = fieldNames.filter((name) => columns[name] === -1);
      this.#onHeader?.({ text, delimiter: this.#delimiter, absent, ignored });
      return undefined;
    }
    return this.#parseCells(cells, this.#columns);
  }

  assertHeader(): void {
    if (this.#columns === undefined) throw new OperatorError(`the file has no header; ${headerAdvice}`);
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
    const fields: { -readonly [Field in keyof NewPlantFields]: NewPlantFields[Field] } = {};
    for (const name of columnNames) fields[name] = cells[columns[name]];
    return parseNewPlantFields(fields);
  }
}

const requiredColumns = ["id", ...fieldNames.filter(isRequired)];
const optionalColumns = fieldNames.filter((field) => !isRequired(field));
const headerAdvice = `its first line must name the columns ${requiredColumns.join(" and ")}, and may name ${optionalColumns.join(", ")}`;

/** The delimiter with which the header has all required columns; the comma if none does. */
function findDelimiter(text: string): Delimiter {
  const hasRequired = (delimiter: Delimiter) => {
    let header: CsvCells | undefined;
    parseCsvRecords(text, delimiter, (cells, start, end) => {
      if (text.slice(start, end).trim() !== "") header ??= cells;
    });
    if (header === undefined || "error" in header) return false;
    const names = trimmedNames(header);
    return requiredColumns.every((name) => names.includes(name));
  };
  return delimiters.find(hasRequired) ?? ",";
}

const isAbsent = (cell: string | undefined) => cell === undefined;

function parseHeader(
  cells: CsvCells,
  text: string,
): { readonly columns: Columns; readonly ignored: readonly string[] } {
  const invalid = (error: string) => new OperatorError(`${error}; ${headerAdvice}`);
  if ("error" in cells) throw invalid(`the header is not CSV in UTF-8: ${cells.error}`);
  const names = trimmedNames(cells);
  const missing = requiredColumns.filter((name) => !names.includes(name));
  if (missing.length > 0)
    throw invalid(`the header has no column ${missing.join(" and no ")}; it is ${shorten(text)}`);
  const twice = columnNames.filter((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice.length > 0) throw invalid(`the header has the column ${twice.join(" and ")} twice`);
  const indexes = Object.fromEntries(columnNames.map((name) => [name, names.indexOf(name)]));
  const isRead = (name: string) => columnNames.some((column) => column === name);
  return {
    columns: { ...(indexes as ColumnIndexes), count: names.length },
    ignored: cells.flatMap((cell, index) => (cell && !isRead(names[index] ?? "") ? [cell] : [])),
  };
}

/** Spreadsheets also write `ID` and ` Name`. trim removes a byte order mark too. */
function trimmedNames(cells: readonly (string | undefined)[]): string[] {
  return cells.map((cell) => (cell ?? "").trim().toLowerCase());
}

/** Bounded, because the file may contain anything. */
function shorten(text: string): string {
  const charactersMax = 100;
  return JSON.stringify(text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text);
}
