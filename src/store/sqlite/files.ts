// Names, measures and identifies the files of a store, and puts them on stable storage.

import { closeSync, existsSync, fsyncSync, openSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * All suffixes of SQLite's own files: the WAL, its shared index, and the rollback journal of other
 * modes.
 */
const sidecarSuffixes = ["-wal", "-shm", "-journal"];

/** The suffix of the failure marker, a file next to a store whose disk has failed. */
export const failureMarkerSuffix = "-disk-failed";

/** The suffix of a path that is reserved for files next to a store; undefined if it has none. */
export function reservedSuffix(path: string): string | undefined {
  return [...sidecarSuffixes, failureMarkerSuffix].find((suffix) => path.endsWith(suffix));
}

/**
 * The existing sidecar files of a path without links. Does not open the database file: a process
 * that closes a file loses every POSIX lock that it holds on it, also those of other descriptors.
 */
export function sidecarFilesAt(resolved: string): string[] {
  return sidecarSuffixes.map((suffix) => resolved + suffix).filter((file) => existsSync(file));
}

/** The path without links: SQLite keeps the sidecar files there. */
export function resolvedPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

export function bytesOnDisk(path: string): number {
  return [path, ...sidecarFilesAt(resolvedPath(path))].reduce((sum, file) => sum + sizeOf(file), 0);
}

/** The size of the WAL; undefined if it cannot be measured, as while no descriptor is free. */
export function walBytes(path: string): number | undefined {
  try {
    return sizeOf(`${resolvedPath(path)}-wal`);
  } catch {
    return undefined;
  }
}

/** Device and inode of a file; undefined if there is none. */
export function fileId(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.dev}:${stat.ino}`;
}

/** Whether a file is empty, or does not exist. */
export function isEmpty(path: string): boolean {
  return sizeOf(path) === 0;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export function fsyncFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Puts the name of a file on stable storage, after it was created or renamed. */
export function fsyncDirectory(path: string): void {
  fsyncFile(dirname(resolvedPath(path)));
}
