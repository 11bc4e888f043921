// Finds the stores that running servers have open, for the error message of a command that found no store.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { fileId } from "./files.ts";

/**
 * The paths of the SQLite stores that servers on this machine have open, as far as this user may see them. Read from
 * /proc, which only Linux has; elsewhere the list is empty.
 */
export function servedStores(): string[] {
  const processes = listEntries("/proc").filter((name) => /^\d+$/.test(name));
  return [...new Set(processes.filter(isServer).flatMap(openStores))].toSorted();
}

function isServer(process: string): boolean {
  const args = readOr(() => readFileSync(`/proc/${process}/cmdline`, "utf8"), "").split("\0");
  return args.includes("serve") && args.some((arg) => arg.endsWith("/src/cli/main.ts"));
}

/** The files whose WAL is open too, as SQLite keeps it open as long as the database. */
function openStores(process: string): string[] {
  const folder = `/proc/${process}/fd`;
  const opened = new Map(
    listEntries(folder).map((descriptor) => {
      const link = `${folder}/${descriptor}`;
      return [readOr(() => readlinkSync(link), ""), link];
    }),
  );
  // In a container the same path may lead to another file.
  const isSameHere = (path: string) => {
    const link = opened.get(path);
    return link !== undefined && readOr(() => fileId(link) === fileId(path), false);
  };
  return [...opened.keys()].filter((path) => opened.has(`${path}-wal`) && isSameHere(path));
}

function listEntries(folder: string): string[] {
  return readOr(() => readdirSync(folder), []);
}

/** Processes may end at any moment, and those of other users cannot be read. */
function readOr<Result>(read: () => Result, fallback: Result): Result {
  try {
    return read();
  } catch {
    return fallback;
  }
}
