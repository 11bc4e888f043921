// Reports the rejected records of an import, each in a line of JSON.

import { appendFileSync, closeSync, openSync } from "node:fs";
import { entryOf } from "../base/errors.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { RejectedRecord } from "./import.ts";

/** The line of a report, with its line end. */
export function rejectionLine({ line, column, error, text }: RejectedRecord): string {
  const code = entryOf(error.code).error;
  return `${JSON.stringify({ line, column, error: code, message: error.message, text })}\n`;
}

/** UTF-16 code units that are buffered for one write. */
const bufferMax = 2 ** 16;

/**
 * A file with a report, which only its owner can read. It is created with the first record, under
 * the first free name of `plants.csv.rejected.ndjson`, `plants.csv.rejected.2.ndjson` and so on: an
 * earlier report may still be needed, or a concurrent import may be writing it.
 */
export class RejectedFile {
  readonly #input: string;
  #path: string | undefined;
  #descriptor: number | undefined;
  #buffer = "";

  /** @param input The path of the imported file. */
  constructor(input: string) {
    this.#input = input;
  }

  readonly add = (record: RejectedRecord): void => {
    this.#buffer += rejectionLine(record);
    if (this.#buffer.length >= bufferMax) this.#flush();
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
    if (this.#buffer === "") return;
    try {
      this.#descriptor ??= this.#create();
      appendFileSync(this.#descriptor, this.#buffer);
    } catch (error) {
      throw new OperatorError(
        `the rejected records cannot be written to ${this.#path} (${(error as NodeJS.ErrnoException).code}); give its folder free space and write permission, or pipe the file to "plantstore import -" in another folder`,
      );
    }
    this.#buffer = "";
  }

  #create(): number {
    for (let number = 1; ; number++) {
      this.#path = `${this.#input}.rejected${number === 1 ? "" : `.${number}`}.ndjson`;
      try {
        return openSync(this.#path, "wx", 0o600);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }
}
