// The file with the report of the records that an import rejected.

import { appendFileSync, closeSync, fchmodSync, fstatSync, openSync } from "node:fs";
import { OperatorError } from "../core/operator-error.ts";
import type { FormatName } from "./format.ts";
import type { RejectedRecord } from "./import.ts";
import type { RejectionReport } from "./rejections.ts";
import type { SourceAccess } from "./source.ts";

/** UTF-16 code units that are buffered for one write. */
const writeCodeUnits = 2 ** 16;

/** The end of the name of a report in CSV, which may itself be imported. */
const csvReportName = /\.rejected(?:\.\d+)?\.csv$/;

/**
 * A file with the rejected records in the format of the import. It is created with the first one,
 * under the first free name of `plants.csv.rejected.csv`, `plants.csv.rejected.2.csv` and so on: an
 * earlier report may have been corrected, or a concurrent import may be writing it.
 */
export class RejectedFile {
  readonly #stem: string;
  readonly #format: FormatName;
  readonly #report: RejectionReport;
  readonly #access: SourceAccess;
  #path: string | undefined;
  #descriptor: number | undefined;
  #buffer = "";

  /** @param input The path of the imported file; undefined for standard input. */
  constructor(input: string | undefined, format: FormatName, report: RejectionReport, access: SourceAccess) {
    this.#stem = `${(input ?? "stdin").replace(csvReportName, "")}.rejected`;
    this.#format = format;
    this.#report = report;
    this.#access = access;
  }

  add(record: RejectedRecord): void {
    this.#buffer += this.#report.add(record);
    if (this.#buffer.length >= writeCodeUnits) this.#flush();
  }

  /** Writes the buffer, and returns the report's path, if anything was rejected. Call it once. */
  finish(): string | undefined {
    try {
      this.#flush();
    } finally {
      if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    }
    return this.#path;
  }

  #flush(): void {
    if (this.#buffer === "") return;
    try {
      this.#descriptor ??= this.#create();
      appendFileSync(this.#descriptor, this.#buffer);
    } catch (error) {
      throw new OperatorError(
        `the rejected records cannot be written to ${this.#path} (${(error as NodeJS.ErrnoException).code}); free some space, or pipe the file to "plantstore import -" in another folder`,
      );
    }
    this.#buffer = "";
  }

  #create(): number {
    for (let number = 1; ; number++) {
      this.#path = `${this.#stem}${number === 1 ? "" : `.${number}`}.${this.#format}`;
      try {
        return createAsPrivateAs(this.#access, this.#path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }
}

/** Creates a file that is at most as readable as its source. Returns its descriptor. */
function createAsPrivateAs({ mode, group }: SourceAccess, path: string): number {
  const descriptor = openSync(path, "wx", mode & 0o606);
  // The group of a new file is known only after it was created.
  if (fstatSync(descriptor).gid === group) fchmodSync(descriptor, mode & 0o666 & ~process.umask());
  return descriptor;
}
