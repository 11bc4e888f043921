// One change of an operator's, beside servers that commit.

import { OperatorError } from "../../operator-error.ts";
import { lockWaitMs } from "./database.ts";
import { isFailedFsync } from "./disk-failure.ts";
import { type Database, SQLiteError } from "./driver.ts";

/** How long a change waits for its turn beside a server that commits without a pause. */
const turnWaitMs = 10_000;

/**
 * Runs one change in a transaction. A busy server frees the lock for some 100 µs between two commits, which
 * SQLite's own waiting, with pauses of up to 100 ms, seldom meets: so ask for it every millisecond. Throws an
 * OperatorError where the store cannot be changed now.
 */
export function runImmediateTransaction<T>(database: Database, change: () => T): T {
  try {
    return changeOnce(database, change);
  } catch (error) {
    if (!(error instanceof SQLiteError) || isFailedFsync(error)) throw error;
    throw new OperatorError(`the store could not do it: ${error.message}; see to it, and try again`);
  }
}

function changeOnce<T>(database: Database, change: () => T): T {
  const transaction = database.transaction(change);
  const deadline = performance.now() + turnWaitMs;
  database.run("PRAGMA busy_timeout = 0");
  try {
    for (;;) {
      try {
        return transaction.immediate();
      } catch (error) {
        const isBusy = error instanceof SQLiteError && error.code === "SQLITE_BUSY";
        if (!isBusy || performance.now() > deadline) throw error;
        Bun.sleepSync(1);
      }
    }
  } finally {
    database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
  }
}
