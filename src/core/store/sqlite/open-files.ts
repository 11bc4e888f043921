// Notices that the files of an open store were removed or replaced, such as by `mv`. Commits after
// that would be lost.

import { errorMessage, OperatorError } from "../../operator-error.ts";
import { fileId, resolvedPath } from "./files.ts";
import { setWalAside } from "./wal-owner.ts";

/** The pause between two looks. One takes 6 µs; the fsync of a commit takes 100 µs or more. */
const lookIntervalMs = 250;

export class OpenFiles {
  readonly #path: string;
  readonly #resolved: string;
  readonly #opened: ReadonlyMap<string, string>;
  #nextLookAt = 0;

  /** Call it as soon as SQLite has opened the database, the WAL and its index. */
  constructor(path: string) {
    const resolved = resolvedPath(path);
    this.#path = path;
    this.#resolved = resolved;
    const paths = [path, `${resolved}-wal`, `${resolved}-shm`];
    this.#opened = new Map(paths.map((each) => [each, identify(each)]));
  }

  /**
   * Throws an OperatorError if a file was removed or replaced more than lookIntervalMs ago, and until
   * it is back.
   */
  assertIntact(): void {
    if (performance.now() < this.#nextLookAt) return;
    const fault = this.findFault();
    if (fault !== undefined) throw new OperatorError(fault);
    this.#nextLookAt = performance.now() + lookIntervalMs;
  }

  /** Looks now, and says which file was removed or replaced. */
  findFault(): string | undefined {
    const [replaced] = [...this.#opened.keys()].filter((path) => !this.#isIntact(path));
    return (
      replaced &&
      `${replaced} was removed or replaced while it was open; put it back, or stop the server and bring a backup back with "plantstore restore"`
    );
  }

  /**
   * Moves the WAL aside if it is the one that was opened, and the database is not: the next process
   * that opens the file there would delete the WAL, or replay it into that file. Returns its new
   * name.
   */
  setWalAside(): string | undefined {
    const isReplaced = !this.#isIntact(this.#path) && this.#isIntact(`${this.#resolved}-wal`);
    return isReplaced ? setWalAside(this.#resolved) : undefined;
  }

  #isIntact(path: string): boolean {
    return this.#opened.get(path) === identify(path);
  }
}

/** A file that cannot be reached, such as on a failing disk, is another one than before. */
function identify(path: string): string {
  try {
    return fileId(path) ?? "";
  } catch (error) {
    return errorMessage(error);
  }
}
