// What an fsync that failed leaves behind, and how a store becomes safe after one.

import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { OperatorError } from "../../operator-error.ts";
import { Database, SQLiteError } from "./driver.ts";
import { resolvedPath } from "./files.ts";

/** What the name of the note ends with that the disk of a store has failed. */
export const noteSuffix = "-disk-failed";

/**
 * The disk did not take what it was given, and nothing that the system shows of the file is certain any more: after a
 * failed fsync the kernel holds the pages for written, though they are not, and the next fsync succeeds. So nobody may
 * go on with this store, and the next one to open it makes it safe first.
 */
export class DiskFailureError extends OperatorError {}

/** Whether an error says that an fsync failed, one of SQLite's or one of ours. */
export function isFailedFsync(error: unknown): error is Error & { readonly code: string } {
  if (error instanceof SQLiteError) return /^SQLITE_IOERR_(?:DIR_)?FSYNC/.test(error.code ?? "");
  return error instanceof Error && "syscall" in error && error.syscall === "fsync";
}

/**
 * Notes beside the store that its disk has failed. The note itself needs no fsync: after a power cut, which could lose
 * it, what is read is what the disk has.
 */
export function writeFailureMarker(path: string, reason: string): void {
  try {
    // As the store: for nobody who may not read that.
    writeFileSync(markerPath(path), `${reason}\n`, { mode: statSync(path).mode & 0o666 });
  } catch {
    // A disk that takes no note takes no plant either, until it is mounted anew: then what is read is what it has.
  }
}

/**
 * Makes a store safe whose disk has failed: alone, with nothing that was known of its log before, all of the log is
 * copied into the database file and fsynced. Does nothing where there is no note of a failure.
 */
export function recoverFromFailure(path: string): void {
  if (!hasFailed(path)) return;
  // Of a store that was moved away the note alone may have stayed.
  if (existsSync(path)) copyWholeLog(path);
  rmSync(markerPath(path));
}

/** Whether there is a note that the disk of a store has failed, and the store was not recovered since. */
export function hasFailed(path: string): boolean {
  return existsSync(markerPath(path));
}

function copyWholeLog(path: string): void {
  const database = new Database(path, { readwrite: true, create: false });
  try {
    // An index of the log that is shared with nobody, and so read anew from the log itself.
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    database.run("PRAGMA synchronous = FULL");
    database.run("BEGIN IMMEDIATE");
    database.run("COMMIT");
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY"))
      throw new OperatorError(
        `the disk of ${path} has failed, and the store can only be recovered alone; end the other processes that have it open`,
      );
    throw error;
  } finally {
    database.close();
  }
}

function markerPath(path: string): string {
  return resolvedPath(path) + noteSuffix;
}
