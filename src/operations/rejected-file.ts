// The file with the report of the records that an import rejected.

import {
  appendFileSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
} from "node:fs";
import { OperatorError } from "../core/operator-error.ts";
import type { FormatName } from "./format.ts";
import type { RejectedRecord } from "./import.ts";
import type { RejectionReport } from "./rejections.ts";
import type { SourceAccess } from "./source.ts";

/** UTF-16 code units that are buffered for one write. */
const writeCodeUnits = 2 ** 16;

/** The first bytes of every report in NDJSON. */
const reportStart = Buffer.from('{"line":');

/** The end of the name of a report in CSV, which may itself be imported. */
const csvReportName = /\.rejected(?:\.\d+)?\.csv$/;

/**
 * A file with the rejected records in the format of the import. It is created with the first one.
 *
 * While the import runs the report has a temporary name, and at the end it gets the first free name
 * of `plants.csv.rejected.csv`, `plants.csv.rejected.2.csv` and so on, so that concurrent imports
 * do not replace each other's reports.
 */
export class RejectedFile {
  readonly #stem: string;
  readonly #format: FormatName;
  readonly #report: RejectionReport;
  readonly #access: SourceAccess;
  readonly #partialPath: string;
  #descriptor: number | undefined;
  #buffer = "";

  /**
   * @param input The path of the imported file; undefined for standard input. The earlier report of
   *   the same file is removed if it is NDJSON. In CSV it may have been corrected, and is kept.
   */
  constructor(input: string | undefined, format: FormatName, report: RejectionReport, access: SourceAccess) {
    this.#stem = `${(input ?? "stdin").replace(csvReportName, "")}.rejected`;
    this.#format = format;
    this.#report = report;
    this.#access = access;
    this.#partialPath = `${this.#stem}.${crypto.randomUUID().slice(0, 8)}.partial`;
    if (input !== undefined && format === "ndjson") this.#orThrow(() => removeReport(this.#firstPath));
  }

  /** The path without a number. */
  get #firstPath(): string {
    return `${this.#stem}.${this.#format}`;
  }

  add(record: RejectedRecord): void {
    this.#buffer += this.#report.add(record);
    if (this.#buffer.length >= writeCodeUnits) this.#flush();
  }

  /** Writes the buffer, and returns the report's path, if anything was rejected. Call it once. */
  finish(): string | undefined {
    try {
      this.#flush();
    } catch (error) {
      // The part that could be written is kept.
      this.#publish();
      throw error;
    }
    return this.#publish();
  }

  #flush(): void {
    if (this.#buffer === "") return;
    this.#orThrow(() => {
      this.#descriptor ??= createAsPrivateAs(this.#access, this.#partialPath);
      appendFileSync(this.#descriptor, this.#buffer);
    });
    this.#buffer = "";
  }

  #publish(): string | undefined {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return undefined;
    closeSync(descriptor);
    return this.#orThrow(() => {
      const path = this.#reservePath();
      renameSync(this.#partialPath, path);
      return path;
    });
  }

  /** Creates an empty file with the first free name, which the report replaces. */
  #reservePath(): string {
    for (let number = 1; ; number++) {
      const path = number === 1 ? this.#firstPath : `${this.#stem}.${number}.${this.#format}`;
      try {
        closeSync(openSync(path, "wx", 0o600));
        return path;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }

  #orThrow<Result>(write: () => Result): Result {
    try {
      return write();
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw new OperatorError(
        `the rejected records cannot be written to ${this.#firstPath} (${(error as NodeJS.ErrnoException).code}); free some space, or pipe the file to "plantstore import -" in another folder`,
      );
    }
  }
}

/** Removes the report of an earlier import; throws an OperatorError if the file is not a report. */
function removeReport(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isFile() || (stat.size > 0 && !startsAsReport(path)))
    throw new OperatorError(
      `${path} is needed for the rejected records, but exists and is not the report of an import; move it away`,
    );
  rmSync(path, { force: true });
}

function startsAsReport(path: string): boolean {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const start = Buffer.alloc(reportStart.length);
    readSync(descriptor, start);
    return start.equals(reportStart);
  } finally {
    closeSync(descriptor);
  }
}

/** Creates a file that is at most as readable as its source. Returns its descriptor. */
function createAsPrivateAs({ mode, group }: SourceAccess, path: string): number {
  const descriptor = openSync(path, "wx", mode & 0o606);
  // The group of a new file is known only after it was created.
  if (fstatSync(descriptor).gid === group) fchmodSync(descriptor, mode & 0o666 & ~process.umask());
  return descriptor;
}
