// Transactions of processes that use one store at the same time.

import { OperatorError } from "../../operator-error.ts";
import { isFailedFsync } from "./disk-failure.ts";
import { type Database, isLocked, SQLiteError } from "./driver.ts";
import { describeError } from "./errors.ts";

/** How long an operator's transaction waits for a server that commits without a pause. */
const immediateWaitMs = 10_000;

/** Runs one change of an operator. Throws an OperatorError if the store cannot be changed now. */
export function runImmediateTransaction<T>(database: Database, change: () => T): T {
  const transaction = database.transaction(change);
  try {
    return retryWhileLocked(() => transaction.immediate(), immediateWaitMs);
  } catch (error) {
    if (!(error instanceof SQLiteError) || isFailedFsync(error)) throw error;
    const reason = describeError(error, database.filename);
    throw new OperatorError(`the store could not be changed: ${reason}; fix the cause, and try again`);
  }
}

/**
 * Runs work again every millisecond while another connection has the lock. A busy process releases
 * it for some 100 µs between two commits. SQLite's busy handler sleeps up to 100 ms and misses
 * these gaps: creates beside such a process waited for two seconds, and got 503.
 */
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
