// Locks on a database file: whether any process has it open, and that none opens it for a while.

import { statSync } from "node:fs";
import { OperatorError } from "../../operator-error.ts";
import { lockWaitMs } from "./database.ts";
import { Database, SQLiteError } from "./driver.ts";
import { fileId } from "./file-identity.ts";

/** How long to wait between two attempts to lock a file. */
const lockPauseMs = 10;

/** Whether a file has nothing in it, or does not exist. */
export function isEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/**
 * Runs an action while no other process has a database file open or can open it. Throws an OperatorError if one has,
 * and SQLite's error if the file cannot be locked or is no database.
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
      throw new OperatorError(`${path} is open, by a server perhaps; stop it first`);
    Bun.sleepSync(lockPauseMs);
  }
}

/**
 * Opens a database file and locks it until the connection is closed. A server holds a lock as long as it runs, and a
 * command while it reads or writes. Undefined if there is such a lock, or the file was replaced at this moment.
 */
export function tryLock(path: string): Database | undefined {
  const identity = fileId(path);
  const database = new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
  try {
    // A connection that waited for the lock could get that of a file which was replaced meanwhile.
    database.run("PRAGMA busy_timeout = 0");
    // From here on every lock is kept.
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    // A transaction in an empty file begins with a first page, and with a journal beside the file if that is not in memory.
    if (isEmpty(path)) database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN EXCLUSIVE");
    database.run("ROLLBACK");
    if (identity !== undefined && identity === fileId(path)) return database;
  } catch (error) {
    if (!(error instanceof SQLiteError && /^SQLITE_(?:BUSY|LOCKED)/.test(error.code ?? ""))) {
      database.close();
      throw error;
    }
  }
  database.close();
  return undefined;
}
