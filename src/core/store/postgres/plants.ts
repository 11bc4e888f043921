// The plants table: commits batches, and probes. The statements are those that PostgreSQL, Citus,
// CockroachDB and YugabyteDB have in common.

import type { NewPlant } from "../../contract/plant.ts";
import { compareWithStored, type NewEntry, type OnUnavailable, type Outcome } from "../plant-store.ts";
import { selectDurable } from "./batch.ts";
import { classifyError, errorReason } from "./errors.ts";
import type { HostPool } from "./host-pool.ts";
import { commitHalves, commitSkippingLocked, LockedIds } from "./locked-rows.ts";
import type { Commits } from "./primary.ts";

export class PostgresPlants {
  readonly #primary: Commits;
  readonly #onUnavailable: OnUnavailable;
  readonly #locked = new LockedIds();

  constructor(primary: Commits, onUnavailable: OnUnavailable) {
    this.#primary = primary;
    this.#onUnavailable = onUnavailable;
  }

  /** Commits a batch, or else those of its plants that can be. See PlantStore.create. */
  create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    return this.#create(batch, "withRetry");
  }

  async #create(batch: readonly NewEntry[], run: keyof Commits): Promise<Outcome[]> {
    try {
      return await this.#primary[run]((pool) => this.#commit(pool, batch));
    } catch (error) {
      const failure = classifyError(error);
      if (failure === "internalError") throw error;
      if (failure === "rowError" && batch.length > 1)
        return commitHalves(batch, (half) => this.#create(half, "once"));
      this.#onUnavailable(errorReason(error));
      if (failure === "connectionLost" || failure === "retryable") return batch.map(() => "unavailable");
      return this.#compare(batch);
    }
  }

  async #commit(pool: HostPool, batch: readonly NewEntry[]): Promise<Outcome[]> {
    const outcomes = await commitSkippingLocked(pool, batch, this.#locked);
    if (outcomes.includes("unavailable"))
      this.#onUnavailable("other transactions hold or delete some of its plants, or a trigger skips them");
    return outcomes;
  }

  /** Compares a batch that cannot be committed: replays and conflicts need no write. */
  async #compare(batch: readonly NewEntry[]): Promise<Outcome[]> {
    const reading = this.#primary.once((pool) => selectDurable(pool, batch));
    const stored = await reading.catch((error) => {
      if (classifyError(error) === "internalError") throw error;
      this.#onUnavailable(errorReason(error));
      return new Map<bigint, NewPlant>();
    });
    return batch.map(({ plant }) => {
      const found = stored.get(plant.id);
      return found === undefined ? "unavailable" : compareWithStored(found, plant);
    });
  }
}

/**
 * Inserts a plant in a transaction that takes it back and commits. The commit waits for the disk,
 * and for a standby, as the plant was written; a role that may only insert plants can do so.
 */
export async function probe(pool: HostPool): Promise<void> {
  const id = crypto.getRandomValues(new BigInt64Array(1))[0];
  await pool.transaction((connection) =>
    connection.query(
      `SAVEPOINT probe; INSERT INTO plants (id, name) VALUES (${id}, '') ON CONFLICT (id) DO NOTHING; ROLLBACK TO SAVEPOINT probe`,
    ),
  );
}
