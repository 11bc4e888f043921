// Writes the reports of rejected records: of JSON a line about each, of CSV those records with a
// column more, so that they can be corrected there and imported.

import { appendFileSync, closeSync, openSync } from "node:fs";
import { entryOf } from "../base/errors.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Collection } from "../contract/contract.ts";
import { type CsvHeader, columnNames, foldedName } from "./csv.ts";
import { csvCellsOf, type Delimiter, formatCsvCell } from "./csv-records.ts";
import type { FileFormat } from "./file-format.ts";
import type { FormatName } from "./format-names.ts";
import type { RejectedRecord } from "./import.ts";

/** The last column of a report in CSV, which an import ignores: no field has its name in any case. */
function reasonColumn(collection: Collection): string {
  let name = "reason";
  while (columnNames(collection).some((other) => foldedName(other) === name)) name = `rejection ${name}`;
  return name;
}

/** The reason at the end of a record of an earlier report; perhaps its cell was emptied. */
const earlierReason = /[,;\t|](?:"?line \d+: \d{5} .*)?$/;

/** The text of a report, record by record. */
export class RejectionReport {
  readonly format: FormatName;
  /** The text before the next record. */
  #start = "";
  #delimiter: Delimiter = ",";
  #columns = 0;
  /** Whether the file is a corrected report, whose reasons are replaced. */
  #isReport = false;
  readonly #collection: Collection;

  /** @param format that of the file. */
  constructor(collection: Collection, format: FileFormat) {
    this.#collection = collection;
    this.format = format === "csv" ? "csv" : "ndjson";
  }

  /** Is told the header of the file. */
  onHeader({ text, delimiter }: CsvHeader): void {
    const name = reasonColumn(this.#collection);
    const cells = csvCellsOf(text, delimiter) ?? [];
    this.#delimiter = delimiter;
    this.#isReport = foldedName(cells.at(-1) ?? "") === name;
    this.#columns = cells.length - (this.#isReport ? 1 : 0);
    const columns = this.#isReport ? text.slice(0, text.lastIndexOf(delimiter)) : text;
    this.#start = `${columns}${delimiter}${formatCsvCell(name, delimiter)}\n`;
  }

  /**
   * Formats a record with its line end, after the header if it is the first. In CSV its bytes are
   * those of the file, so that a record that is not UTF-8 is rejected again until it is corrected.
   */
  add({ line, column, error, text, bytes }: RejectedRecord): Buffer {
    const code = entryOf(error.code).error;
    if (this.format === "ndjson")
      return Buffer.from(`${JSON.stringify({ line, column, error: code, message: error.message, text })}\n`);
    const start = this.#start;
    this.#start = "";
    // Latin-1 keeps bytes as they are.
    const record = this.#withoutReason(bytes === undefined ? text : Buffer.from(bytes).toString("latin1"));
    const { cells, surplus } =
      bytes === undefined ? this.#fit(record) : { cells: Buffer.from(record, "latin1"), surplus: "" };
    // One line, as it may follow an error of syntax.
    const reason = `line ${line}: ${code} ${error.message}${surplus}`.replaceAll(/\p{Cc}/gu, " ");
    const end = `${this.#delimiter}${formatCsvCell(reason, this.#delimiter)}\n`;
    return Buffer.concat([Buffer.from(start), Buffer.from(cells), Buffer.from(end)]);
  }

  #withoutReason(record: string): string {
    return this.#isReport ? record.replace(earlierReason, "") : record;
  }

  /** A record with as many cells as the header, so that the reason stands in its column. */
  #fit(text: string): { readonly cells: string; readonly surplus: string } {
    const cells = csvCellsOf(text, this.#delimiter);
    if (cells === undefined || cells.length === this.#columns) return { cells: text, surplus: "" };
    if (cells.length < this.#columns)
      return { cells: text + this.#delimiter.repeat(this.#columns - cells.length), surplus: "" };
    const written = cells.map((cell) => formatCsvCell(cell, this.#delimiter));
    return {
      cells: written.slice(0, this.#columns).join(this.#delimiter),
      surplus: ` The others are ${written.slice(this.#columns).join(this.#delimiter)}`,
    };
  }
}

/** Bytes that are buffered for one write. */
const writeBytes = 2 ** 16;

/**
 * A file with a report, which only its owner can read. It is created with the first record, under
 * the first free name of `plants.csv.rejected.csv`, `plants.csv.rejected.2.csv` and so on: an
 * earlier report may have been corrected, or a concurrent import may be writing it.
 */
export class RejectedFile {
  readonly #input: string;
  #path: string | undefined;
  #descriptor: number | undefined;
  #format: FormatName = "ndjson";
  #buffer: Buffer[] = [];
  #bufferBytes = 0;

  /** @param input The path of the imported file. */
  constructor(input: string) {
    this.#input = input;
  }

  /** Adds the report on a record. */
  readonly add = (text: Buffer, format: FormatName): void => {
    this.#format = format;
    this.#buffer.push(text);
    this.#bufferBytes += text.length;
    if (this.#bufferBytes >= writeBytes) this.#flush();
  };

  /** Writes the buffer, and returns the file's path, if anything was rejected. Call it once. */
  finish(): string | undefined {
    try {
      this.#flush();
    } finally {
      if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    }
    return this.#path;
  }

  #flush(): void {
    if (this.#bufferBytes === 0) return;
    try {
      this.#descriptor ??= this.#create();
      appendFileSync(this.#descriptor, Buffer.concat(this.#buffer));
    } catch (error) {
      throw new OperatorError(
        `the rejected records cannot be written to ${this.#path} (${(error as NodeJS.ErrnoException).code}); give its folder free space and write permission, or pipe the file to "plantstore import -" in another folder`,
      );
    }
    this.#buffer = [];
    this.#bufferBytes = 0;
  }

  #create(): number {
    for (let number = 1; ; number++) {
      this.#path = `${this.#input}.rejected${number === 1 ? "" : `.${number}`}.${this.#format}`;
      try {
        return openSync(this.#path, "wx", 0o600);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }
}
