// The report of what an import refused.

import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { errorRegistry } from "../contract/errors.ts";
import { OperatorError } from "../operator-error.ts";
import type { RejectedRecord } from "./import.ts";
import type { SourceAccess } from "./source.ts";

/** How much is gathered for one write. */
const writeUnits = 2 ** 16;

/** A report that was written. */
export interface Report {
  readonly path: string;
  /** Whether another report had the name that it would have had. */
  readonly isNumbered: boolean;
}

/** What every report starts with. */
const reportStart = Buffer.from('{"line":');

/**
 * A file of NDJSON, a line for each refusal. There is none while there is no refusal.
 *
 * While the import runs, the report has a name of its own, and at the end it gets the first of its names that is free:
 * `plants.csv.rejected.ndjson`, `plants.csv.rejected.2.ndjson` and so on. So of imports that run at the same time none
 * replaces the report of another.
 */
export class RejectedFile {
  readonly #stem: string;
  readonly #access: SourceAccess;
  readonly #partialPath: string;
  #descriptor: number | undefined;
  #gathered = "";

  /**
   * @param input The path of the imported file, whose report of an earlier import is removed; undefined for standard
   *   input, which may be another one each time, so that no report of it is.
   */
  constructor(input: string | undefined, access: SourceAccess) {
    this.#stem = `${input ?? "stdin"}.rejected`;
    this.#access = access;
    this.#partialPath = `${this.#stem}.${crypto.randomUUID().slice(0, 8)}.partial`;
    if (input !== undefined) this.#orFail(() => removeReport(this.#firstPath));
  }

  /** The name that the report has unless it is taken. */
  get #firstPath(): string {
    return `${this.#stem}.ndjson`;
  }

  add({ line, error, text }: RejectedRecord): void {
    const report = { line, error: errorRegistry[error.code].error, message: error.message, text };
    this.#gathered += `${JSON.stringify(report)}\n`;
    if (this.#gathered.length >= writeUnits) this.#flush();
  }

  /** Writes what was gathered, and gives the report its name; undefined if nothing was refused. To be called once, in any case. */
  finish(): Report | undefined {
    try {
      this.#flush();
    } catch (error) {
      // What could be written is of use.
      this.#publish();
      throw error;
    }
    return this.#publish();
  }

  #flush(): void {
    if (this.#gathered === "") return;
    this.#orFail(() => {
      this.#descriptor ??= createAsPrivateAs(this.#access, this.#partialPath);
      const bytes = Buffer.from(this.#gathered);
      for (let written = 0; written < bytes.length; )
        written += writeSync(this.#descriptor, bytes, written, bytes.length - written);
    });
    this.#gathered = "";
  }

  #publish(): Report | undefined {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return undefined;
    closeSync(descriptor);
    return this.#orFail(() => {
      const path = this.#claimPath();
      renameSync(this.#partialPath, path);
      return { path, isNumbered: path !== this.#firstPath };
    });
  }

  /** Makes an empty file with the first name that is free, for the report to replace. */
  #claimPath(): string {
    for (let number = 1; ; number++) {
      const path = number === 1 ? this.#firstPath : `${this.#stem}.${number}.ndjson`;
      try {
        closeSync(openSync(path, "wx", 0o600));
        return path;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }

  #orFail<Result>(write: () => Result): Result {
    try {
      return write();
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw new OperatorError(
        `the refused lines cannot be written to ${this.#firstPath} (${(error as NodeJS.ErrnoException).code}); make room for it, or pipe the file to "plantstore import -" in another folder`,
      );
    }
  }
}

/** Removes the report of an earlier import; throws an OperatorError where something else has its name. */
function removeReport(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isFile() || (stat.size > 0 && !startsAsReport(path)))
    throw new OperatorError(
      `${path} is where the refused lines go, but what is there is not the report of an import; move it away`,
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

/** Makes a file that nobody may read who may not read the source, whose lines it repeats. Gives its descriptor. */
function createAsPrivateAs({ mode, group }: SourceAccess, path: string): number {
  const descriptor = openSync(path, "wx", mode & 0o606);
  // Only now is it known which group it belongs to.
  if (fstatSync(descriptor).gid === group) fchmodSync(descriptor, mode & 0o666 & ~process.umask());
  return descriptor;
}
