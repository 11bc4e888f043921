// Creates batches on PostgreSQL, again after a failure that may pass, and probes whether that is
// possible.

import { type Contract, sampleValues } from "../../contract/contract.ts";
import { randomId } from "../../contract/plant-id.ts";
import type { NewEntry, OnUnavailable, Outcome } from "../plant-store.ts";
import { ContractChanged } from "../shared/plant-edit.ts";
import { commitBatch, insert, newOwnKey } from "./batch.ts";
import { classifyError, errorReason, isOutdated } from "./errors.ts";
import type { HostPool } from "./host-pool.ts";
import type { Commits } from "./primary.ts";

/** Commits a batch. See PlantStore.create. */
export async function createPlants(
  primary: Commits,
  batch: readonly NewEntry[],
  createdAt: number,
  onUnavailable: OnUnavailable,
): Promise<Outcome[]> {
  const ownKey = newOwnKey();
  try {
    return await primary.withRetry((pool) => commitBatch(pool, batch, createdAt, ownKey));
  } catch (error) {
    if (classifyError(error) === "internalError") throw error;
    onUnavailable(isOutdated(error) ? new ContractChanged().message : errorReason(error));
    return batch.map(() => "unavailable");
  }
}

/**
 * Inserts a plant in a transaction that takes it back and commits. The commit waits for the disk,
 * and for a standby, as the plant was written; a role that may only insert plants can do so.
 */
export async function probe(pool: HostPool, { collections: [collection] }: Contract): Promise<void> {
  if (collection === undefined) return;
  const id = randomId(collection.id);
  await pool.transaction(async (connection) => {
    await connection.query("SAVEPOINT probe");
    const plant = { id, values: sampleValues(collection) };
    const rows = [{ collection, plant, creator: null }];
    await insert(connection, pool.traits, collection, rows, { createdAt: Date.now(), ownKey: "" });
    await connection.query("ROLLBACK TO SAVEPOINT probe");
  });
}
