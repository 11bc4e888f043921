// The file by which a program that starts a sandbox learns its addresses.

import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { OperatorError } from "../core/operator-error.ts";

export interface ReadyState {
  /** The base URL of the public listener. */
  readonly url: string;
  readonly plantsUrl: string;
  readonly token: string;
  /** Null where the admin listener is off, as for controlUrl. */
  readonly adminUrl: string | null;
  readonly controlUrl: string | null;
  readonly pid: number;
}

/** A file that is written atomically when the sandbox is ready, and removed when it ends. */
export class ReadyFile implements Disposable {
  readonly #path: string;
  readonly #remove = () => this[Symbol.dispose]();

  /** Removes a file of an earlier sandbox. Throws an OperatorError if it is another file. */
  constructor(path: string) {
    this.#path = path;
    const text = this.#read();
    if (text !== undefined && text !== "" && parse(text) === undefined)
      throw new OperatorError(
        `--ready-file ${path} is not a file that a sandbox has written; name another`,
        2,
      );
    try {
      accessSync(dirname(path), constants.W_OK);
      rmSync(path, { force: true });
    } catch (error) {
      throw cannot("written", path, error);
    }
    // Runs even if a second signal ends the process.
    process.on("exit", this.#remove);
  }

  write(state: ReadyState): void {
    // The random name and O_EXCL defeat a file or link that another user has put there.
    const temporary = `${this.#path}.${crypto.randomUUID()}`;
    try {
      // Private: the token may be one that an operator has chosen.
      writeFileSync(temporary, `${JSON.stringify(state)}\n`, { mode: 0o600, flag: "wx" });
      renameSync(temporary, this.#path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw cannot("written", this.#path, error);
    }
  }

  /** Removes the file, unless another sandbox has replaced it. */
  [Symbol.dispose](): void {
    process.off("exit", this.#remove);
    const text = this.#read();
    if (text !== undefined && parse(text)?.pid === process.pid) rmSync(this.#path, { force: true });
  }

  #read(): string | undefined {
    try {
      return readFileSync(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw cannot("read", this.#path, error);
    }
  }
}

function parse(text: string): { pid: unknown } | undefined {
  try {
    const state: unknown = JSON.parse(text);
    return typeof state === "object" && state !== null && "plantsUrl" in state && "pid" in state
      ? state
      : undefined;
  } catch {
    return undefined;
  }
}

function cannot(action: string, path: string, error: unknown): OperatorError {
  const { code } = error as NodeJS.ErrnoException;
  return new OperatorError(
    `--ready-file ${path} cannot be ${action} (${code}); name a file in a folder that is writable`,
  );
}
