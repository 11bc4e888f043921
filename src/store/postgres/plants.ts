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

/** The bytes of a row, with its header. */
const rowBytesMax = 8_160;
const rowHeaderBytes = 24;

/** PostgreSQL compresses a text of more bytes, or stores it elsewhere: these are left at least. */
const inlineBytesMax = 23;
const storedBytesMin = 12;

/**
 * Whether a row is over a page however its texts are compressed. Found before the database is asked:
 * 64 clients with such rows made 600 creates of others take two minutes.
 */
function isSurelyTooLarge({ collection: { fields }, plant: { values } }: NewEntry): boolean {
  if (fields.length * (inlineBytesMax + 1) < rowBytesMax) return false;
  const bytes = fields.reduce((sum, { type }, index) => {
    const value = values[index];
    if (typeof value !== "string" || type.column.postgres !== "text") return sum;
    const length = Buffer.byteLength(value);
    return sum + (length > inlineBytesMax ? storedBytesMin : length + 1);
  }, rowHeaderBytes);
  return bytes > rowBytesMax;
}

/** Commits a batch. See PlantStore.create. */
export async function createPlants(
  primary: Commits,
  batch: readonly NewEntry[],
  createdAt: number,
  onUnavailable: OnUnavailable,
): Promise<Outcome[]> {
  const others = batch.filter((entry) => !isSurelyTooLarge(entry));
  const outcomes = await commitOthers(primary, others, createdAt, onUnavailable);
  if (others.length === batch.length) return outcomes;
  let next = 0;
  return batch.map((entry) => (entry === others[next] ? (outcomes[next++] as Outcome) : "tooLarge"));
}

async function commitOthers(
  primary: Commits,
  batch: readonly NewEntry[],
  createdAt: number,
  onUnavailable: OnUnavailable,
): Promise<Outcome[]> {
  const values = { createdAt, ownKey: newOwnKey() };
  try {
    return await primary.withRetry((pool) => commitBatch(pool, batch, values, onUnavailable));
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
