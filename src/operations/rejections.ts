// The reports of rejected records: of NDJSON a line about each, of CSV the file with those records.

import { errorRegistry } from "../core/contract/errors.ts";
import { type CsvCells, type Delimiter, formatCsvCell, parseCsvRecords } from "./csv-records.ts";
import type { FormatName } from "./format.ts";
import type { RejectedRecord } from "./import.ts";

/** The last column of a report in CSV, which an import ignores. */
const reasonColumn = "reason";

/** The text of a report, record by record. */
export interface RejectionReport {
  /** Is told the header of the file, as it came. */
  readonly onHeader: (header: string) => void;
  /** The record, each with a line end; before the first one also what the report starts with. */
  add(record: RejectedRecord): string;
}

/** A report of records of a format. */
export function rejectionReport(format: FormatName, delimiter: Delimiter): RejectionReport {
  return format === "csv" ? new CsvReport(delimiter) : ndjsonReport;
}

const ndjsonReport: RejectionReport = {
  onHeader: () => undefined,
  add: ({ line, error, text }) =>
    `${JSON.stringify({ line, error: errorRegistry[error.code].error, message: error.message, text })}\n`,
};

/** The records with their columns, and the reason: corrected, the file can be imported. */
class CsvReport implements RejectionReport {
  readonly #delimiter: Delimiter;
  /** The text before the next record. */
  #start = "";
  /** The columns of a file that is such a report itself: its reasons are replaced. */
  #reportColumns: number | undefined;

  constructor(delimiter: Delimiter) {
    this.#delimiter = delimiter;
  }

  readonly onHeader = (header: string): void => {
    const { cells } = this.#parse(header);
    if (!("error" in cells) && cells.at(-1)?.trim().toLowerCase() === reasonColumn)
      this.#reportColumns = cells.length;
    this.#start =
      this.#reportColumns === undefined ? `${header}${this.#delimiter}${reasonColumn}\n` : `${header}\n`;
  };

  add({ line, error, text }: RejectedRecord): string {
    const start = this.#start;
    this.#start = "";
    // One line, as it may follow an open quote or another error of syntax.
    const reason = `line ${line}: ${errorRegistry[error.code].error} ${error.message}`;
    const cell = formatCsvCell(reason.replaceAll(/\p{Cc}/gu, " "), this.#delimiter);
    return `${start}${this.#recordOf(text)}${this.#delimiter}${cell}\n`;
  }

  /** The cells of a record without a former reason. */
  #recordOf(text: string): string {
    const { cells, isOpen } = this.#parse(text);
    // Only the start of a record that is too long is known.
    if (isOpen) return `${text}"`;
    if ("error" in cells || cells.length !== this.#reportColumns) return text;
    const own = cells.slice(0, -1).map((cell) => formatCsvCell(cell, this.#delimiter));
    return own.join(this.#delimiter);
  }

  #parse(text: string): { readonly cells: CsvCells; readonly isOpen: boolean } {
    let found: CsvCells = [];
    const end = parseCsvRecords(text, this.#delimiter, (cells) => {
      found = cells;
    });
    return { cells: found, isOpen: end < text.length };
  }
}
