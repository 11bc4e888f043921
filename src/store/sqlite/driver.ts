// Exports what is used of Bun's SQLite, which nothing else imports.

import { constants, SQLiteError } from "bun:sqlite";

export { Database } from "bun:sqlite";
export { SQLiteError };

/** The operation of Database.fileControl that limits a database in memory: sqlite3.h. */
export const sizeLimitOperation = constants.SQLITE_FCNTL_SIZE_LIMIT;

/** How long a statement waits for a lock that another process holds. */
export const lockWaitMs = 2_000;

/** Whether another connection holds the lock that was asked for. */
export function isLocked(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(?:BUSY|LOCKED)/.test(error.code ?? "");
}
