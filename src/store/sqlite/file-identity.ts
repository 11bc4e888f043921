// Whether the files that SQLite has open are still those that bear their names.

import { statSync } from "node:fs";
import { resolvedPath } from "./files.ts";

/** The log and its index: commits to one that was removed would be lost with it. */
const companions = ["-wal", "-shm"];

export class OpenFiles {
  readonly #opened: ReadonlyMap<string, string | undefined>;

  /** To be made as soon as SQLite has all three open: what is replaced later is told from what is there now. */
  constructor(path: string) {
    // SQLite keeps them beside the file itself, whatever link leads to it.
    const place = resolvedPath(path);
    const paths = [path, ...companions.map((suffix) => place + suffix)];
    this.#opened = new Map(paths.map((each) => [each, fileId(each)]));
  }

  /** Names the first that is not in its place any more; undefined if all are. 3 µs, beside a commit's fsync of 100 or more. */
  misplaced(): string | undefined {
    for (const [path, identity] of this.#opened) if (fileId(path) !== identity) return path;
    return undefined;
  }
}

/** The identity of the file at a path; undefined if there is none. A file that replaces it has another one. */
export function fileId(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.dev}:${stat.ino}`;
}
