// Marks a store whose fsync has failed by a file beside it, and recovers the store when it is
// opened next.

import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { OperatorError } from "../../base/operator-error.ts";
import { Database, isLocked, SQLiteError } from "./driver.ts";
import { failureMarkerSuffix, resolvedPath } from "./files.ts";

/**
 * An fsync has failed. The kernel then marks the pages as clean although they were not written, so
 * nothing that is read through the page cache proves what the disk holds. No process may continue
 * with this store; the next one that opens it recovers it first.
 */
export class DiskFailureError extends OperatorError {}

export function diskFailure(path: string, reason: string): DiskFailureError {
  return new DiskFailureError(
    `the disk of ${path} failed: ${reason}; check the disk, and restart: the store is recovered then`,
  );
}

/** Whether an fsync failed, of SQLite's or of this program's own. */
export function isFailedFsync(error: unknown): error is Error & { readonly code: string } {
  if (error instanceof SQLiteError) return /^SQLITE_IOERR_(?:DIR_)?FSYNC/.test(error.code ?? "");
  return error instanceof Error && "syscall" in error && /^f(?:data)?sync$/.test(String(error.syscall));
}

/** Marks the store of an fsync that failed, and returns the error for all later calls. */
export function recordDiskFailure(
  path: string,
  { message, code }: Error & { readonly code: string },
): DiskFailureError {
  const reason = `${message} (${code})`;
  writeFailureMarker(path, reason);
  return diskFailure(path, reason);
}

/**
 * Marks a store whose disk has failed. The marker needs no fsync: after a power cut, which could
 * lose it, reads return what the disk holds.
 */
export function writeFailureMarker(path: string, reason: string): void {
  try {
    // As private as the store itself.
    writeFileSync(markerPath(path), `${reason}\n`, { mode: statSync(path).mode & 0o666 });
  } catch {
    // A disk that cannot store the marker stores no plant either until it is mounted again, with an
    // empty page cache.
  }
}

export function hasFailureMarker(path: string): boolean {
  return existsSync(markerPath(path));
}

/**
 * Recovers a store whose disk has failed: with exclusive access, and without the shared index of
 * the WAL, the whole WAL is copied into the database file and fsynced. Does nothing without a
 * failure marker. Throws an OperatorError if other processes have the store open.
 */
export function recoverFromFailure(path: string): void {
  if (!hasFailureMarker(path)) return;
  checkpointExclusively(path);
  rmSync(markerPath(path));
}

function checkpointExclusively(path: string): void {
  const database = new Database(path, { readwrite: true, create: false });
  try {
    // Keeps the WAL index in private memory, so SQLite rebuilds it from the WAL itself.
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    database.run("PRAGMA synchronous = FULL");
    database.run("BEGIN IMMEDIATE");
    database.run("COMMIT");
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (isLocked(error))
      throw new OperatorError(
        `the disk of ${path} has failed, and recovery needs exclusive access; end the other processes that have it open`,
      );
    throw error;
  } finally {
    database.close();
  }
}

function markerPath(path: string): string {
  return resolvedPath(path) + failureMarkerSuffix;
}
