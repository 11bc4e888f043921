// Commits a batch while other transactions hold locks on some of its rows: halves it until only
// those plants are left.

import type { NewEntry, Outcome } from "../plant-store.ts";
import { batchLockMsMax, commitBatch } from "./batch.ts";
import type { HostPool } from "./connection.ts";
import { isLockTimeout } from "./errors.ts";

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

  get isEmpty(): boolean {
    return this.#until.size === 0;
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
  const bisection: LockBisection = { pool, locked, deadline: performance.now() + divideMsMax };
  const isSeparate = batch.map(({ plant: { id } }) => !locked.isEmpty && locked.has(id));
  const together = batch.filter((_, index) => !isSeparate[index]);
  const outcomes = together.length === 0 ? [] : await commitOrDivide(bisection, together);
  if (together.length === batch.length) return outcomes;
  const separate = await commitParts(
    bisection,
    batch.filter((_, index) => isSeparate[index]).map((entry) => [entry]),
  );
  let [nextTogether, nextSeparate] = [0, 0];
  return isSeparate.map(
    (isOne) => (isOne ? separate[nextSeparate++] : outcomes[nextTogether++]) ?? "unavailable",
  );
}

/** A batch that is committed in parts, until a deadline. */
interface LockBisection {
  readonly pool: HostPool;
  readonly locked: LockedIds;
  readonly deadline: number;
}

async function commitOrDivide(bisection: LockBisection, batch: readonly NewEntry[]): Promise<Outcome[]> {
  const { pool } = bisection;
  const outcomes = await commitUnlessLocked(pool, batch, batchLockMsMax);
  if (outcomes !== undefined) return outcomes;
  // A lock on the whole table blocks every part; this statement then fails as the batch did.
  await pool.query({ text: "INSERT INTO plants (id, name) SELECT 0, '' WHERE false", lockMs: partLockMsMax });
  return commitParts(bisection, halve(batch));
}

/** Commits the parts of a batch in order, and halves those that wait for a lock. */
async function commitParts(
  bisection: LockBisection,
  parts: readonly (readonly NewEntry[])[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const part of parts) {
    if (performance.now() > bisection.deadline) outcomes.push(...part.map(() => "unavailable" as const));
    else outcomes.push(...(await commitPart(bisection, part)));
  }
  return outcomes;
}

async function commitPart(bisection: LockBisection, part: readonly NewEntry[]): Promise<Outcome[]> {
  const outcomes = await commitUnlessLocked(bisection.pool, part, partLockMsMax);
  if (outcomes !== undefined) return outcomes;
  const [entry] = part;
  if (part.length > 1 || entry === undefined) return commitParts(bisection, halve(part));
  bisection.locked.add(entry.plant.id);
  return ["unavailable"];
}

/** Commits a batch; resolves with undefined if it waited for a lock longer than its limit. */
async function commitUnlessLocked(
  pool: HostPool,
  batch: readonly NewEntry[],
  lockMsMax: number,
): Promise<Outcome[] | undefined> {
  try {
    return await commitBatch(pool, batch, lockMsMax);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return undefined;
  }
}

function halve(batch: readonly NewEntry[]): (readonly NewEntry[])[] {
  if (batch.length < 2) return [batch];
  const middle = batch.length >> 1;
  return [batch.slice(0, middle), batch.slice(middle)];
}
