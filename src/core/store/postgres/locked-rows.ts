// Commits a batch while other transactions hold locks on some of its rows: halves it until only
// those plants are left.

import type { NewEntry, Outcome } from "../plant-store.ts";
import { batchLockMsMax, commitBatch } from "./batch.ts";
import { isLockTimeout } from "./errors.ts";
import type { HostPool } from "./host-pool.ts";

/** How long a part of a divided batch waits for such a row. */
const partLockMsMax = 100;

/** How long a batch is divided; plants that are not committed by then are unavailable. */
const divideMsMax = 3_000;

/** How long a plant whose row was locked is committed separately from its batch. */
const lockedMsMax = 30_000;
const lockedIdsMax = 1_000;

/** The ids whose rows were locked by other transactions in the last 30 seconds. */
export class LockedIds {
  readonly #until = new Map<bigint, number>();

  /** Whether the row of an id was locked recently. */
  has(id: bigint): boolean {
    const until = this.#until.get(id);
    if (until === undefined) return false;
    if (performance.now() < until) return true;
    this.#until.delete(id);
    return false;
  }

  add(id: bigint): void {
    this.#until.delete(id);
    this.#until.set(id, performance.now() + lockedMsMax);
    const [oldest] = this.#until.keys();
    if (this.#until.size > lockedIdsMax && oldest !== undefined) this.#until.delete(oldest);
  }
}

/**
 * Commits a batch while other transactions hold locks on some of its rows: only those plants are
 * `unavailable`, and the others do not wait for them. Safe to repeat. Rejects as commitBatch does,
 * also while the whole table is locked.
 */
export async function commitSkippingLocked(
  pool: HostPool,
  batch: readonly NewEntry[],
  locked: LockedIds,
): Promise<Outcome[]> {
  const deadline = performance.now() + divideMsMax;
  /** Resolves with undefined if the commit waited for a lock longer than its limit. */
  const commit = (part: readonly NewEntry[], lockMsMax: number) =>
    commitBatch(pool, part, lockMsMax).catch((error) => {
      if (!isLockTimeout(error)) throw error;
      return undefined;
    });
  const commitPart = async (part: readonly NewEntry[]): Promise<Outcome[]> => {
    if (performance.now() > deadline) return part.map(() => "unavailable");
    const outcomes = await commit(part, partLockMsMax);
    if (outcomes !== undefined) return outcomes;
    if (part.length > 1) return commitHalves(part, commitPart);
    for (const { plant } of part) locked.add(plant.id);
    return ["unavailable"];
  };
  const commitTogether = async (part: readonly NewEntry[]): Promise<Outcome[]> => {
    const outcomes = await commit(part, batchLockMsMax);
    if (outcomes !== undefined) return outcomes;
    // A lock on the whole table blocks every part; this statement then fails as the batch did.
    await pool.query({
      text: "INSERT INTO plants (id, name) SELECT 0, '' WHERE false",
      lockMs: partLockMsMax,
    });
    return part.length > 1 ? commitHalves(part, commitPart) : commitPart(part);
  };
  const together = batch.filter(({ plant }) => !locked.has(plant.id));
  const outcomes = together.length === 0 ? [] : await commitTogether(together);
  if (together.length === batch.length) return outcomes;
  const outcomeOf = new Map(together.map((entry, index) => [entry, outcomes[index]]));
  for (const entry of batch) if (!outcomeOf.has(entry)) outcomeOf.set(entry, (await commitPart([entry]))[0]);
  return batch.map((entry) => outcomeOf.get(entry) ?? "unavailable");
}

/** Commits one half of a batch after the other, so that equal ids keep their order. */
export async function commitHalves(
  batch: readonly NewEntry[],
  commit: (half: readonly NewEntry[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const middle = batch.length >> 1;
  return [...(await commit(batch.slice(0, middle))), ...(await commit(batch.slice(middle)))];
}
