// The report of what an import refused.

import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { errorRegistry } from "../contract/errors.ts";
import { OperatorError } from "../operator-error.ts";
import type { Refusal } from "./import.ts";

/** How much is gathered for one write. */
const writeUnits = 2 ** 16;

/** A file of NDJSON, a line for each refusal. There is none while there is no refusal, and none of an earlier import stays. */
export class RejectedFile implements Disposable {
  readonly path: string;
  #descriptor: number | undefined;
  #gathered = "";

  constructor(path: string) {
    this.path = path;
    this.#orFail(() => rmSync(path, { force: true }));
  }

  add({ line, error, text }: Refusal): void {
    const report = { line, error: errorRegistry[error.code].error, message: error.message, text };
    this.#gathered += `${JSON.stringify(report)}\n`;
    if (this.#gathered.length >= writeUnits) this.flush();
  }

  /** Writes what was gathered. */
  flush(): void {
    if (this.#gathered === "") return;
    this.#orFail(() => {
      this.#descriptor ??= openSync(this.path, "w");
      const bytes = Buffer.from(this.#gathered);
      for (let written = 0; written < bytes.length; )
        written += writeSync(this.#descriptor, bytes, written, bytes.length - written);
    });
    this.#gathered = "";
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  #orFail(write: () => void): void {
    try {
      write();
    } catch (error) {
      throw new OperatorError(
        `the refused lines cannot be written to ${this.path} (${(error as NodeJS.ErrnoException).code}); make room for it, or pipe the file to "plantstore import -" in another folder`,
      );
    }
  }
}
