// Exports what is used of Bun's SQLite, which nothing else imports, and waits for its locks.

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

/**
 * Runs work again every millisecond while another connection has the lock. A busy process releases
 * it for a moment between two commits. SQLite's busy handler sleeps up to 100 ms and misses these
 * moments, so that creates beside such a process would get 503.
 */
export function retryWhileLocked<T>(work: () => T, waitMsMax: number): T {
  const deadline = performance.now() + waitMsMax;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || performance.now() >= deadline) throw error;
      Bun.sleepSync(1);
    }
  }
}
