// The plants table: commits batches, reads single plants and probes. The statements are those that
// PostgreSQL, Citus, CockroachDB and YugabyteDB have in common.

import type { NewPlant } from "../../contract/plant.ts";
import { compareWithStored, type NewEntry, type OnUnavailable, type Outcome } from "../plant-store.ts";
import { select, selectDurable } from "./batch.ts";
import type { HostPool } from "./connection.ts";
import { classifyError, errorReason, rejectForOperator } from "./errors.ts";
import { commitSkippingLocked, LockedIds } from "./locked-rows.ts";
import type { Commits } from "./primary.ts";

export class PostgresPlants {
  readonly #primary: Commits;
  readonly #onUnavailable: OnUnavailable;
  readonly #locked = new LockedIds();

  constructor(primary: Commits, onUnavailable: OnUnavailable) {
    this.#primary = primary;
    this.#onUnavailable = onUnavailable;
  }

  /** Commits a batch, or else each plant by itself. See PlantStore.create. */
  async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    try {
      return await this.#primary.withRetry((pool) => this.#commit(pool, batch));
    } catch (error) {
      const failure = classifyError(error);
      if (failure === "internalError") throw error;
      this.#onUnavailable(errorReason(error));
      if (failure === "connectionLost" || failure === "retryable") return batch.map(() => "unavailable");
      return this.#commitEach(batch, failure === "rowError" && batch.length > 1);
    }
  }

  /** Commits what a create writes, and leaves no plant; rejects with the reason if it cannot. */
  probe(): Promise<void> {
    return this.#primary.once((pool) => probe(pool));
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    const selecting = this.#primary.withRetry((pool) => select(pool, [id]));
    const { plants } = await selecting.catch(rejectForOperator);
    return plants.get(id);
  }

  async #commit(pool: HostPool, batch: readonly NewEntry[]): Promise<Outcome[]> {
    const outcomes = await commitSkippingLocked(pool, batch, this.#locked);
    if (outcomes.includes("unavailable"))
      this.#onUnavailable("other transactions hold or delete some of its plants, or a trigger skips them");
    return outcomes;
  }

  /** Commits each plant of a batch by itself; replays and conflicts need no write. */
  async #commitEach(batch: readonly NewEntry[], mayWrite: boolean): Promise<Outcome[]> {
    try {
      const stored = await this.#primary.once((pool) => selectDurable(pool, batch));
      const outcomes: Outcome[] = [];
      for (const entry of batch) {
        const found = stored.get(entry.plant.id);
        if (found !== undefined) outcomes.push(compareWithStored(found, entry.plant));
        else outcomes.push(mayWrite ? await this.#commitSingly(entry) : "unavailable");
      }
      return outcomes;
    } catch (error) {
      if (classifyError(error) === "internalError") throw error;
      this.#onUnavailable(errorReason(error));
      return batch.map(() => "unavailable");
    }
  }

  async #commitSingly(entry: NewEntry): Promise<Outcome> {
    try {
      const [outcome = "unavailable"] = await this.#primary.once((pool) => this.#commit(pool, [entry]));
      return outcome;
    } catch (error) {
      if (classifyError(error) !== "rowError") throw error;
      this.#onUnavailable(errorReason(error));
      return "unavailable";
    }
  }
}

/**
 * Inserts a plant in a transaction that takes it back and commits. The commit waits for the disk,
 * and for a standby, as the plant was written; a role that may only insert plants can do so.
 */
async function probe(pool: HostPool): Promise<void> {
  const id = crypto.getRandomValues(new BigInt64Array(1))[0];
  await pool.transaction((connection) =>
    connection.query(
      `SAVEPOINT probe; INSERT INTO plants (id, name) VALUES (${id}, '') ON CONFLICT (id) DO NOTHING; ROLLBACK TO SAVEPOINT probe`,
    ),
  );
}
