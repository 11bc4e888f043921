// Runs transactions on a store that other processes use at the same time.

import { OperatorError } from "../../base/operator-error.ts";
import type { EditOutcome } from "../shared/plant-edit.ts";
import type { SqlWork } from "../shared/sql-work.ts";
import { TransactionConflict } from "../shared/transaction.ts";
import { isFailedFsync } from "./disk-failure.ts";
import { type Database, retryWhileLocked, SQLiteError } from "./driver.ts";
import { describeError } from "./errors.ts";
import { runWork } from "./sql-work.ts";

/** How long a change of an operator, or of a client, waits for a server that commits without a pause. */
const changeWaitMs = 10_000;

export class Transactions {
  readonly database: Database;
  readonly #waitMsMax: number;
  readonly #prepare: () => void;
  // Prepared once: parsing BEGIN and COMMIT took 11 µs a batch.
  readonly #begin: () => unknown;
  readonly #commit;

  /**
   * @param waitMsMax how long `run` waits until another process releases its lock.
   * @param prepare called before each transaction, which fails with its error.
   */
  constructor(database: Database, waitMsMax = 0, prepare = () => {}) {
    this.database = database;
    this.#waitMsMax = waitMsMax;
    this.#prepare = prepare;
    const begin = database.query("BEGIN IMMEDIATE");
    this.#begin = () => begin.run();
    this.#commit = database.query("COMMIT");
  }

  /** Runs work in one transaction. Throws what it throws, or SQLite's own error. */
  run<Result>(work: () => Result, waitMsMax = this.#waitMsMax): Result {
    this.#prepare();
    retryWhileLocked(this.#begin, waitMsMax);
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (this.database.inTransaction) this.database.run("ROLLBACK");
      throw error;
    }
  }

  /** Runs wholeTransaction, see PlantStore.transact. Throws an OperatorError as `change` does. */
  transact(work: () => SqlWork<void>): EditOutcome {
    try {
      this.change(work);
      return "done";
    } catch (error) {
      if (!(error instanceof TransactionConflict)) throw error;
      return "changed";
    }
  }

  /** Runs a change of an operator, or the edits of clients. Throws an OperatorError if the store cannot be changed now. */
  change<Result>(work: () => SqlWork<Result>): Result {
    try {
      return this.run(() => runWork(this.database, work()), changeWaitMs);
    } catch (error) {
      if (!(error instanceof SQLiteError) || isFailedFsync(error)) throw error;
      const reason = describeError(error, this.database.filename);
      throw new OperatorError(`the store could not be changed: ${reason}; fix the cause, and try again`);
    }
  }
}
