// Writes the file from which a program that starts a sandbox learns its addresses.

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { OperatorError } from "../base/operator-error.ts";
import { PartialFile } from "../transfer/partial-file.ts";

interface ReadyState {
  readonly url: string;
  /** The URL of the first collection; the base URL if there is none. */
  readonly resourcesUrl: string;
  /** The URL of each collection, by its name. */
  readonly collections: Readonly<Record<string, string>>;
  readonly token: string;
  /** Null without an admin listener, as is `controlUrl`. */
  readonly adminUrl: string | null;
  readonly controlUrl: string | null;
  readonly pid: number;
}

/** A file that is written atomically when the sandbox is ready, and removed when it ends. */
export class ReadyFile implements Disposable {
  readonly #path: string;
  readonly #remove = () => rmSync(this.#path, { force: true });

  /**
   * Removes the file of a sandbox that was killed. Throws an OperatorError if it is another file.
   */
  constructor(path: string) {
    this.#path = path;
    if (existsSync(path) && !isReadyFile(path))
      throw new OperatorError(
        `--ready-file ${path} is not a file that a sandbox has written; name another`,
        2,
      );
    this.#remove();
    // Runs even if a second signal ends the process.
    process.on("exit", this.#remove);
  }

  write(state: ReadyState): void {
    try {
      // Private: the token may be one that an operator has chosen.
      using file = new PartialFile(this.#path);
      writeFileSync(file.path, `${JSON.stringify(state)}\n`);
      file.rename();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new OperatorError(
        `--ready-file ${this.#path} cannot be written (${code}); name a file in a folder that is writable`,
      );
    }
  }

  [Symbol.dispose](): void {
    process.off("exit", this.#remove);
    this.#remove();
  }
}

function isReadyFile(path: string): boolean {
  try {
    return "resourcesUrl" in JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // A folder, or text that is no JSON.
    return false;
  }
}
