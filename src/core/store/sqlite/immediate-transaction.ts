// Runs an operator's change while a server is busy.

import { OperatorError } from "../../operator-error.ts";
import { type Database, lockWaitMs, SQLiteError } from "./driver.ts";
import { describeError, isFailedFsync, isLocked } from "./errors.ts";

/** How long an operator's transaction waits for a server that commits without a pause. */
const immediateWaitMs = 10_000;

/**
 * Runs one change of an operator. A busy server releases the write lock for some 100 µs between two
 * commits, which SQLite's busy handler, with pauses of up to 100 ms, seldom meets; so the lock is
 * tried every millisecond. Throws an OperatorError if the store cannot be changed now.
 */
export function runImmediateTransaction<T>(database: Database, change: () => T): T {
  try {
    return retryWhileBusy(database, change);
  } catch (error) {
    if (!(error instanceof SQLiteError) || isFailedFsync(error)) throw error;
    const reason = describeError(error, database.filename);
    throw new OperatorError(`the store could not be changed: ${reason}; fix the cause, and try again`);
  }
}

function retryWhileBusy<T>(database: Database, change: () => T): T {
  const transaction = database.transaction(change);
  database.run("PRAGMA busy_timeout = 0");
  try {
    return retryWhileLocked(() => transaction.immediate(), immediateWaitMs);
  } finally {
    database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
  }
}

/** Runs work again every millisecond while another connection has the lock. */
export function retryWhileLocked<T>(work: () => T, waitMsMax: number): T {
  const deadline = performance.now() + waitMsMax;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) throw error;
      Bun.sleepSync(1);
    }
  }
}
