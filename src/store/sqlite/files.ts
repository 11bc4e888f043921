// The files of a store: their names, their identity, and how they reach stable storage.

import { closeSync, existsSync, fsyncSync, openSync, realpathSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** The files that SQLite keeps open beside a database in WAL mode: the WAL and its shared index. */
const walSuffixes = ["-wal", "-shm"];

/** All suffixes of files beside a database: those of the WAL, and the rollback journal of other modes. */
export const sidecarSuffixes = [...walSuffixes, "-journal"];

/** The sidecar files that exist beside a database file. */
export function sidecarFiles(path: string): string[] {
  return sidecarFilesAt(resolvedPath(path));
}

/**
 * The same for a path without links. The database file itself is not opened: a process that closes a file loses every
 * POSIX lock that it holds on it, also those of its other descriptors.
 */
export function sidecarFilesAt(resolved: string): string[] {
  return sidecarSuffixes.map((suffix) => resolved + suffix).filter((file) => existsSync(file));
}

/** The path without links: SQLite keeps the sidecar files there. */
export function resolvedPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Removes a database file with its sidecar files. */
export function removeStoreFiles(path: string): void {
  for (const file of [...sidecarFiles(path), path]) rmSync(file, { force: true });
}

/** The size of a database file with its sidecar files. */
export function bytesOnDisk(path: string): number {
  return [path, ...sidecarFiles(path)]
    .map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** The size of the WAL beside a database file. */
export function walBytes(path: string): number {
  return statSync(`${resolvedPath(path)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Device and inode of a file; undefined if there is none. A file that replaces it has another id. */
export function fileId(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.dev}:${stat.ino}`;
}

/** A text that changes whenever a file is written or replaced. */
export function fileVersion(path: string): string {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

/** Whether a file is empty, or does not exist. */
export function isEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Puts the contents of a file on stable storage. */
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

/** Detects that a file which SQLite has open was removed or replaced: commits to such a file would be lost with it. */
export class OpenFiles {
  readonly #ids: ReadonlyMap<string, string | undefined>;

  /** Records the files at these names; call it as soon as SQLite has opened the database, the WAL and its index. */
  constructor(path: string) {
    const resolved = resolvedPath(path);
    const paths = [path, ...walSuffixes.map((suffix) => resolved + suffix)];
    this.#ids = new Map(paths.map((each) => [each, fileId(each)]));
  }

  /** The first path that no longer has the file that was opened, if any. Takes 3 µs; the fsync of a commit takes 100 µs or more. */
  findReplaced(): string | undefined {
    for (const [path, id] of this.#ids) if (fileId(path) !== id) return path;
    return undefined;
  }
}
