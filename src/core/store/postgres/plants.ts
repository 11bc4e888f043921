// The plants table: commits batches, and probes.

import { sample } from "../../contract/fields.ts";
import type { NewEntry, OnUnavailable, Outcome } from "../plant-store.ts";
import { commitBatch, insertRows } from "./batch.ts";
import { classifyError, errorReason, isLockTimeout } from "./errors.ts";
import type { HostPool } from "./host-pool.ts";
import type { Commits } from "./primary.ts";

/** How long the half of a batch waits for the lock of another transaction. */
const halfLockMsMax = 100;

/** How long a batch is divided; plants that are not committed by then are unavailable. */
const divideMsMax = 3_000;

export class PostgresPlants {
  readonly #primary: Commits;
  readonly #onUnavailable: OnUnavailable;

  constructor(primary: Commits, onUnavailable: OnUnavailable) {
    this.#primary = primary;
    this.#onUnavailable = onUnavailable;
  }

  /** Commits a batch, or else those of its plants that can be. See PlantStore.create. */
  async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    try {
      return await this.#primary.withRetry((pool) => this.#commit(pool, batch));
    } catch (error) {
      if (classifyError(error) === "internalError") throw error;
      return this.#giveUp(batch, error);
    }
  }

  async #commit(pool: HostPool, batch: readonly NewEntry[]): Promise<Outcome[]> {
    try {
      return await commitBatch(pool, batch);
    } catch (error) {
      if (!isOfOneRow(error)) throw error;
      // A lock on the whole table blocks every part; this statement then fails as the batch did.
      if (isLockTimeout(error)) await pool.query("INSERT INTO plants SELECT * FROM plants WHERE false");
      return this.#divide(pool, batch, error, performance.now() + divideMsMax);
    }
  }

  /** Commits the halves of a batch that failed, so that only the plants that fail are unavailable. */
  async #divide(
    pool: HostPool,
    batch: readonly NewEntry[],
    error: unknown,
    deadline: number,
  ): Promise<Outcome[]> {
    if (batch.length === 1 || performance.now() > deadline) return this.#giveUp(batch, error);
    const middle = batch.length >> 1;
    const outcomes: Outcome[] = [];
    // One after the other, so that equal ids keep their order.
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      const committed = await commitBatch(pool, half, halfLockMsMax).catch((halfError) => {
        if (!isOfOneRow(halfError)) throw halfError;
        return this.#divide(pool, half, halfError, deadline);
      });
      outcomes.push(...committed);
    }
    return outcomes;
  }

  #giveUp(batch: readonly NewEntry[], error: unknown): Outcome[] {
    this.#onUnavailable(errorReason(error));
    return batch.map(() => "unavailable");
  }
}

/** Whether an error is one of some row, so that the others may be committed. */
function isOfOneRow(error: unknown): boolean {
  return isLockTimeout(error) || classifyError(error) === "rowError";
}

/**
 * Inserts a plant in a transaction that takes it back and commits. The commit waits for the disk,
 * and for a standby, as the plant was written; a role that may only insert plants can do so.
 */
export async function probe(pool: HostPool): Promise<void> {
  const [id = 0n] = crypto.getRandomValues(new BigInt64Array(1));
  await pool.transaction(async (connection) => {
    await connection.query("SAVEPOINT probe");
    await insertRows(connection, pool, [{ plant: { ...sample(), id }, creator: null }]);
    await connection.query("ROLLBACK TO SAVEPOINT probe");
  });
}
