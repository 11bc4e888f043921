// Which stores running servers have open, for a command that found none where it looked.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { fileId } from "./file-identity.ts";

/**
 * The paths of the SQLite stores that servers of this machine have open, as far as this user may see them. Read from the
 * system's own list of processes, which is never out of date; only Linux has one as files, so elsewhere there are none.
 */
export function servedStores(): string[] {
  const processes = entriesOf("/proc").filter((name) => /^\d+$/.test(name));
  return [...new Set(processes.filter(isServer).flatMap(storesOpenIn))].toSorted();
}

function isServer(process: string): boolean {
  const args = orElse(() => readFileSync(`/proc/${process}/cmdline`, "utf8"), "").split("\0");
  return args.includes("serve") && args.some((arg) => arg.endsWith("/src/cli.ts"));
}

/** The files that are open with a write-ahead log beside them, which SQLite holds open as long as the database. */
function storesOpenIn(process: string): string[] {
  const folder = `/proc/${process}/fd`;
  const opened = new Map(
    entriesOf(folder).map((descriptor) => {
      const link = `${folder}/${descriptor}`;
      return [orElse(() => readlinkSync(link), ""), link];
    }),
  );
  // In a container a path may mean another file than here.
  const isHere = (path: string) => {
    const link = opened.get(path);
    return link !== undefined && orElse(() => fileId(link) === fileId(path), false);
  };
  return [...opened.keys()].filter((path) => opened.has(`${path}-wal`) && isHere(path));
}

function entriesOf(folder: string): string[] {
  return orElse(() => readdirSync(folder), []);
}

/** Processes come and go, and those of other users are closed to this one. */
function orElse<Result>(read: () => Result, otherwise: Result): Result {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
