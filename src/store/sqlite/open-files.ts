// Notices that the files of an open store were removed or replaced, such as by `mv`. Commits after
// that would be lost.

import { existsSync, renameSync } from "node:fs";
import { errorMessage, OperatorError } from "../../base/operator-error.ts";
import { fileId, fsyncDirectory, resolvedPath } from "./files.ts";

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
   * Throws an OperatorError if a file was removed or replaced more than lookIntervalMs ago, and
   * until it is back.
   */
  assertIntact(): void {
    if (performance.now() < this.#nextLookAt) return;
    const fault = this.findFault();
    if (fault !== undefined) throw new OperatorError(fault);
    this.#nextLookAt = performance.now() + lookIntervalMs;
  }

  /** Looks now, and says which file was removed or replaced. */
  findFault(): string | undefined {
    const replaced = this.#opened.keys().find((path) => !this.#isIntact(path));
    return (
      replaced &&
      `${replaced} was removed or replaced while it was open; put it back, or stop the server and bring a backup back with "plantstore restore"`
    );
  }

  /**
   * Moves the WAL aside if it is the one that was opened, and the database is not: the next process
   * that opens the file there would delete the WAL, or replay it into that file.
   */
  setWalAside(): void {
    const wal = `${this.#resolved}-wal`;
    if (this.#isIntact(this.#path) || !this.#isIntact(wal)) return;
    let aside = `${this.#resolved}.replaced-wal`;
    for (let number = 2; existsSync(aside); number++) aside = `${this.#resolved}.replaced-${number}-wal`;
    renameSync(wal, aside);
    fsyncDirectory(aside);
  }

  #isIntact(path: string): boolean {
    return this.#opened.get(path) === identify(path);
  }
}

/** An error, such as of a failing disk, counts as a change. */
function identify(path: string): string {
  try {
    return fileId(path) ?? "";
  } catch (error) {
    return errorMessage(error);
  }
}
