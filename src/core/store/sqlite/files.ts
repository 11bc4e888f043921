// The files of a store: their names, their identity, and how they reach stable storage.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { OperatorError } from "../../operator-error.ts";

/**
 * All suffixes of SQLite's own files: the WAL, its shared index, and the rollback journal of other
 * modes.
 */
const sidecarSuffixes = ["-wal", "-shm", "-journal"];

/** The suffix of the failure marker, a file next to a store whose disk has failed. */
export const failureMarkerSuffix = "-disk-failed";

/**
 * The suffix that makes a name that of a file next to a store, so that no database may have it;
 * undefined otherwise.
 */
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

/**
 * Throws an OperatorError for a folder, and for a database file that may have a second path, by a
 * hard link or a mount of the file alone. SQLite names the WAL after the path, so two paths have
 * two WALs, whose pages overwrite each other's, and no lock shows it.
 */
export function assertOnePath(path: string): void {
  const resolved = resolvedPath(path);
  const stat = statSync(resolved, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) throw new OperatorError(`${path} is a folder; name a file`);
  const links = stat?.nlink ?? 1;
  if (links > 1)
    throw new OperatorError(
      `${path} has ${links} hard links, and a store must have one, as SQLite keeps the newest plants in a file next to it; find the other with "find -samefile", and remove or copy it`,
    );
  const mountPoints = readMountPoints();
  const mounted = [resolved, ...sidecarFilesAt(resolved)].find((file) => mountPoints.has(file));
  if (mounted !== undefined)
    throw new OperatorError(
      `${mounted} is mounted by itself, and SQLite keeps the newest plants in a file next to it; mount its folder instead`,
    );
}

/** Where this process has something mounted; empty where the kernel is not Linux. */
function readMountPoints(): Set<string> {
  const table = "/proc/self/mountinfo";
  if (!existsSync(table)) return new Set();
  const withoutEscapes = (field: string) =>
    field.replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
  // The fifth field of each line: proc(5).
  return new Set(
    readFileSync(table, "utf8")
      .split("\n")
      .map((line) => withoutEscapes(line.split(" ")[4] ?? "")),
  );
}

export function bytesOnDisk(path: string): number {
  return [path, ...sidecarFilesAt(resolvedPath(path))]
    .map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** The size of the WAL; undefined if it cannot be measured, as while no descriptor is free. */
export function walBytes(path: string): number | undefined {
  try {
    return statSync(`${resolvedPath(path)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
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
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
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

const databaseHeaderBytes = 100;

/**
 * Throws an OperatorError if the WAL of a database file belongs to another one, such as the store
 * over which a backup was copied: SQLite would write its pages over those of the copy. Does nothing
 * if this process may have the file open, as it would lose its locks with a second descriptor.
 */
export function assertOwnWal(path: string): void {
  const resolved = resolvedPath(path);
  if (isEmpty(`${resolved}-wal`)) return;
  if (isEmpty(resolved) || (!mayBeOpenHere(resolved) && !isInWalMode(readHeader(resolved))))
    throw new OperatorError(
      `${path} was copied over a store whose newest plants are in ${resolved}-wal; move that file and ${resolved}-shm away to use the copy`,
    );
}

function mayBeOpenHere(resolved: string): boolean {
  const folder = "/proc/self/fd";
  if (!existsSync(folder)) return true;
  return readdirSync(folder).some((descriptor) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`) === resolved;
    } catch {
      // The descriptor that listed the folder is closed.
      return false;
    }
  });
}

/** The header of a database file. No connection of this process may have it open. */
export function readHeader(path: string): Buffer {
  const descriptor = openSync(path, "r");
  try {
    return readDatabaseHeader(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export function readDatabaseHeader(descriptor: number): Buffer {
  return read(descriptor, databaseHeaderBytes, 0);
}

/** Reads from an open file; fewer bytes at its end. */
export function read(descriptor: number, length: number, position: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position));
}

export function isInWalMode(header: Buffer): boolean {
  return header.length === databaseHeaderBytes && header[18] === 2 && header[19] === 2;
}
