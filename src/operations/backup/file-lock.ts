// Locks a database file, so that no other process has it open, and creates files to lock.

import { closeSync, openSync } from "node:fs";
import { OperatorError } from "../../core/operator-error.ts";
import { Database, lockWaitMs } from "../../core/store/sqlite/driver.ts";
import { isLocked } from "../../core/store/sqlite/errors.ts";
import { fileId, isEmpty } from "../../core/store/sqlite/files.ts";

const lockPauseMs = 10;

/**
 * Runs an action while no other process has a database file open or can open it. Throws an
 * OperatorError if one has it open, and SQLite's error if the file cannot be locked or is not a
 * database.
 */
export function whileLocked<T>(path: string, action: (database: Database) => T): T {
  const deadline = performance.now() + lockWaitMs;
  for (;;) {
    const database = tryLock(path);
    if (database !== undefined) {
      try {
        return action(database);
      } finally {
        database.close();
      }
    }
    if (performance.now() > deadline)
      throw new OperatorError(`${path} is open, perhaps in a server; stop it first`);
    Bun.sleepSync(lockPauseMs);
  }
}

/**
 * Opens a database file and locks it until the connection is closed. Undefined if a server or a
 * command has it open, or if the file was replaced at this moment.
 */
export function tryLock(path: string): Database | undefined {
  const id = fileId(path);
  const database = new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
  try {
    // A connection that waited could get the lock of a file that has been replaced.
    database.run("PRAGMA busy_timeout = 0");
    // From here on SQLite releases no lock before the connection is closed.
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    // In an empty file a transaction writes a first page, and a journal file unless that is in
    // memory.
    if (isEmpty(path)) database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN EXCLUSIVE");
    database.run("ROLLBACK");
    if (id !== undefined && id === fileId(path)) return database;
  } catch (error) {
    if (!isLocked(error)) {
      database.close();
      throw error;
    }
  }
  database.close();
  return undefined;
}

/** Creates an empty file that only its owner can read. Throws if the name exists. */
export function createExclusively(path: string): void {
  closeSync(openSync(path, "wx", 0o600));
}
