// The file by which a program that starts a sandbox learns its addresses.

import { accessSync, constants, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { ReadyState } from "../../packages/sandbox/src/sandbox.ts";
import { OperatorError } from "../core/operator-error.ts";

/** A file that is written atomically when the sandbox is ready, and removed when it ends. */
export class ReadyFile implements Disposable {
  readonly #path: string;
  readonly #remove = () => this[Symbol.dispose]();

  /** Removes a file of an earlier sandbox. Throws an OperatorError if it is another file. */
  constructor(path: string) {
    this.#path = path;
    try {
      const stat = statSync(path, { throwIfNoEntry: false });
      const isReplaceable = stat?.isFile() && (stat.size === 0 || writerOf(path) !== undefined);
      if (stat !== undefined && !isReplaceable)
        throw new OperatorError(
          `--ready-file ${path} is not a file that a sandbox has written; name another`,
          2,
        );
      accessSync(dirname(path), constants.W_OK);
      rmSync(path, { force: true });
    } catch (error) {
      throw writeError(path, error);
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
      throw writeError(this.#path, error);
    }
  }

  /** Removes the file, unless another sandbox has replaced it. */
  [Symbol.dispose](): void {
    process.off("exit", this.#remove);
    if (writerOf(this.#path) === process.pid) rmSync(this.#path, { force: true });
  }
}

/** The process id of the sandbox that wrote a file; undefined if none has. */
function writerOf(path: string): number | undefined {
  try {
    const { plantsUrl, pid } = JSON.parse(readFileSync(path, "utf8"));
    return typeof plantsUrl === "string" ? pid : undefined;
  } catch {
    // It is missing, or holds something else.
    return undefined;
  }
}

function writeError(path: string, error: unknown): unknown {
  if (error instanceof OperatorError) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new OperatorError(
    `--ready-file ${path} cannot be written (${code}); name a file in a folder that is writable`,
  );
}
