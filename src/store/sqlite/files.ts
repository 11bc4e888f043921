// The files that a store is made of, and how one comes into its place.

import { closeSync, existsSync, fsyncSync, openSync, realpathSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** What SQLite keeps beside a file: the write-ahead log, its index, and the journal of other modes. */
export const companionSuffixes = ["-wal", "-shm", "-journal"];

/** The files that SQLite keeps, or has left behind, beside one. */
export function sidecarFiles(path: string): string[] {
  return companionsAt(resolvedPath(path));
}

/**
 * The same of a path without links, of which the file itself is not opened: a process that closes a file loses the locks
 * that it has on it, also those of its other descriptors.
 */
export function companionsAt(place: string): string[] {
  return companionSuffixes.map((suffix) => place + suffix).filter((companion) => existsSync(companion));
}

/** Where a file itself is, whatever link leads to it: SQLite keeps its companions there. */
export function resolvedPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Removes a file with all that is kept beside it. */
export function removeStoreFiles(path: string): void {
  for (const file of [...sidecarFiles(path), path]) rmSync(file, { force: true });
}

/** The bytes of a file and of all that is kept beside it. */
export function bytesOnDisk(path: string): number {
  return [path, ...sidecarFiles(path)]
    .map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** Changes whenever a file is written or replaced. */
export function versionOf(path: string): string {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

/** Puts what was written to a file on stable storage. */
export function fsyncFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Puts a file's name on stable storage, after it was made or changed. */
export function fsyncDirectory(path: string): void {
  fsyncFile(dirname(resolvedPath(path)));
}
