// Batches into the plants table. The statements are those that PostgreSQL, Citus, CockroachDB and YugabyteDB share.

import type { NewPlant } from "../../contract/plant.ts";
import { compareWithStored, type Outcome } from "../plant-store.ts";
import { begin, withLockLimit } from "./connection.ts";
import { toCopyText } from "./copy-format.ts";
import { copyFrom, DatabaseError, type Pool } from "./driver.ts";
import { ConcurrentlyDeleted, isLockTimeout } from "./error-classes.ts";

interface PlantRow {
  /** int8 comes as its digits. */
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** What became of rows: the ids of those that were created, and the plants that were there. */
interface InsertResult {
  readonly createdIds: ReadonlySet<bigint>;
  readonly stored: ReadonlyMap<bigint, NewPlant>;
}

/** From so many rows on a batch is an import's: COPY takes 500,000 rows a second, INSERT 100,000. */
const copyRowsMin = 2_000;

/** Rows of one INSERT: the protocol counts its parameters, three a row, in 16 bits. */
const insertRowsMax = 20_000;

const uniqueViolation = "23505";

/** How long a batch waits for a row that another transaction has inserted, changed or deleted, and not committed. */
const lockMsMax = 1_000;

/** The same for the parts of a batch that such a row is looked for in, and for a plant that was found to be one. */
const partLockMsMax = 100;

/** How long a batch is divided; what is not committed by then is unavailable. */
const divideMsMax = 3_000;

/** For so long a plant whose row is locked is committed apart from its batch. */
const lockedMsMax = 30_000;
const lockedIdsMax = 1_000;

/** The ids whose rows other transactions held a moment ago. */
export class LockedIds {
  readonly #until = new Map<bigint, number>();

  /** Whether an id was locked a moment ago. Costs next to nothing while none was. */
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
 * Commits a batch beside transactions that hold some of its rows: those plants alone are `unavailable`, and the others do
 * not wait for them. Safe to repeat; rejects as commitBatch does, also where another transaction holds the whole table.
 */
export async function commitUnlocked(
  pool: Pool,
  batch: readonly NewPlant[],
  locked: LockedIds,
): Promise<Outcome[]> {
  const deadline = performance.now() + divideMsMax;
  const isApart = batch.map(({ id }) => !locked.isEmpty && locked.has(id));
  const together = batch.filter((_, index) => !isApart[index]);
  const outcomes = together.length === 0 ? [] : await commitOrDivide(pool, together, locked, deadline);
  if (together.length === batch.length) return outcomes;
  const apart: Outcome[] = [];
  for (const plant of batch.filter((_, index) => isApart[index]))
    apart.push(...(await commitParts(pool, [[plant]], locked, deadline)));
  let [nextTogether, nextApart] = [0, 0];
  return isApart.map((isOne) => (isOne ? apart[nextApart++] : outcomes[nextTogether++]) ?? "unavailable");
}

async function commitOrDivide(
  pool: Pool,
  batch: readonly NewPlant[],
  locked: LockedIds,
  deadline: number,
): Promise<Outcome[]> {
  try {
    return await commitBatch(pool, batch, lockMsMax);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
  }
  // A lock on the whole table holds up every part alike; this fails as the batch did.
  const probe = { text: "INSERT INTO plants (id, name, tag) SELECT 0, '', '' WHERE false" };
  await pool.query(withLockLimit(probe, partLockMsMax));
  return commitParts(pool, halvesOf(batch), locked, deadline);
}

/** Commits the parts of a batch in their order, and divides those that wait for a lock until the locked rows are alone. */
async function commitParts(
  pool: Pool,
  parts: readonly (readonly NewPlant[])[],
  locked: LockedIds,
  deadline: number,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const part of parts) {
    if (performance.now() > deadline) outcomes.push(...part.map(() => "unavailable" as const));
    else outcomes.push(...(await commitPart(pool, part, locked, deadline)));
  }
  return outcomes;
}

async function commitPart(
  pool: Pool,
  part: readonly NewPlant[],
  locked: LockedIds,
  deadline: number,
): Promise<Outcome[]> {
  try {
    return await commitBatch(pool, part, partLockMsMax);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
  }
  const [plant] = part;
  if (part.length > 1 || plant === undefined) return commitParts(pool, halvesOf(part), locked, deadline);
  locked.add(plant.id);
  return ["unavailable"];
}

function halvesOf(batch: readonly NewPlant[]): (readonly NewPlant[])[] {
  if (batch.length < 2) return [batch];
  const middle = batch.length >> 1;
  return [batch.slice(0, middle), batch.slice(middle)];
}

/**
 * Commits a batch, and gives its outcomes; safe to repeat. Rejects with what PostgreSQL says, and then see failureOf.
 * @param lockMs how long each of its statements may wait for another transaction.
 */
async function commitBatch(pool: Pool, batch: readonly NewPlant[], lockMs: number): Promise<Outcome[]> {
  // Two batches that take their rows in one order cannot wait for each other in a circle.
  const rows = isAscending(batch) ? batch : withoutRepetitions(batch.toSorted(byId));
  if (rows.length < copyRowsMin) return outcomesOf(batch, rows, await insertAll(pool, rows, lockMs));
  const isCopied = await copy(pool, rows, lockMs);
  // Without looking at ids: sets and maps of bigints cost as much as the COPY.
  if (isCopied && rows.length === batch.length) return batch.map(() => "created");
  const created = isCopied
    ? { createdIds: idsOf(rows), stored: new Map() }
    : await copyRest(pool, rows, lockMs);
  return outcomesOf(batch, rows, created);
}

function isAscending(plants: readonly NewPlant[]): boolean {
  return plants.every(({ id }, index) => index === 0 || id > (plants[index - 1] as NewPlant).id);
}

function byId(one: NewPlant, other: NewPlant): number {
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}

/** Of plants with one id, the first: sorting has left them in their order. */
function withoutRepetitions(sorted: readonly NewPlant[]): NewPlant[] {
  return sorted.filter(({ id }, index) => id !== sorted[index - 1]?.id);
}

function outcomesOf(
  batch: readonly NewPlant[],
  rows: readonly NewPlant[],
  { createdIds, stored }: InsertResult,
): Outcome[] {
  const rowById = new Map(rows.map((row) => [row.id, row]));
  return batch.map((plant) => {
    const isCreated = createdIds.has(plant.id);
    const row = rowById.get(plant.id);
    if (isCreated && row === plant) return "created";
    const there = isCreated ? row : stored.get(plant.id);
    if (there === undefined)
      throw new ConcurrentlyDeleted(`the plant ${plant.id} was neither inserted nor found`);
    return compareWithStored(there, plant);
  });
}

/**
 * One round trip where every plant is new; a second one reads what was there already. The read sees every row
 * that kept the insert from its own: under READ COMMITTED as a later statement, under SERIALIZABLE because the
 * insert itself fails with 40001 on a row that it cannot see, and is tried again.
 */
async function insertAll(pool: Pool, rows: readonly NewPlant[], lockMs: number): Promise<InsertResult> {
  const createdIds = new Set<bigint>();
  for (let start = 0; start < rows.length; start += insertRowsMax) {
    const inserted = await insert(pool, rows.slice(start, start + insertRowsMax), lockMs);
    for (const id of inserted) createdIds.add(id);
  }
  const others = rows.filter(({ id }) => !createdIds.has(id));
  return { createdIds, stored: others.length === 0 ? new Map() : await selectDurable(pool, others, lockMs) };
}

/**
 * Where COPY found an id taken: what is there is read, and the rest copied. If that fails too, somebody creates the
 * same plants at this moment, and INSERT tells row by row.
 */
async function copyRest(pool: Pool, rows: readonly NewPlant[], lockMs: number): Promise<InsertResult> {
  const stored = await selectDurable(pool, rows, lockMs);
  const missing = rows.filter(({ id }) => !stored.has(id));
  if (missing.length === 0 || (await copy(pool, missing, lockMs)))
    return { createdIds: idsOf(missing), stored };
  const rest = await insertAll(pool, missing, lockMs);
  return { createdIds: rest.createdIds, stored: new Map([...stored, ...rest.stored]) };
}

/** Whether all rows were created; if a single id is taken, none is. */
async function copy(pool: Pool, rows: readonly NewPlant[], lockMs: number): Promise<boolean> {
  const connection = await pool.connect();
  try {
    await begin(connection, "", { lockMs });
    const stream = connection.query(copyFrom("COPY plants (id, name, tag) FROM STDIN"));
    await new Promise<void>((resolve, reject) => {
      stream
        .once("finish", resolve)
        .on("error", reject)
        .end(Buffer.from(toCopyText(rows)));
    });
    await connection.query("COMMIT");
    connection.release();
    return true;
  } catch (error) {
    const isTaken = error instanceof DatabaseError && error.code === uniqueViolation;
    // Of a connection that failed in any other way nobody knows the state.
    const isOver = isTaken && (await connection.query("ROLLBACK").catch(() => undefined)) !== undefined;
    connection.release(!isOver);
    if (isTaken) return false;
    throw error;
  }
}

function idsOf(rows: readonly NewPlant[]): Set<bigint> {
  return new Set(rows.map(({ id }) => id));
}

/**
 * The ids that were inserted. A list of VALUES and not unnest: on a Citus table distributed by id it ran at 12,300
 * rows a second against 400 (INSERT … SELECT is pulled through the coordinator), on PostgreSQL itself at 0.8 of
 * unnest's rate in batches of 100. Unnamed, so that PgBouncer may give each batch to another connection.
 */
async function insert(pool: Pool, rows: readonly NewPlant[], lockMs: number): Promise<Set<bigint>> {
  const places = rows.map((_, row) => `($${3 * row + 1}::int8,$${3 * row + 2}::text,$${3 * row + 3}::text)`);
  const statement = {
    text: `INSERT INTO plants (id, name, tag) VALUES ${places.join(",")} ON CONFLICT (id) DO NOTHING RETURNING id`,
    values: rows.flatMap(({ id, name, tag }) => [String(id), name, tag ?? null]),
    rowMode: "array" as const,
  };
  const { rows: inserted } = await pool.query<[string]>(withLockLimit(statement, lockMs));
  return new Set(inserted.map(([id]) => BigInt(id)));
}

/**
 * The plants with the ids of some others, once they are as safe as a commit is. A row is seen as soon as it is
 * committed on this host; where a synchronous standby is asked for, and the wait for it was cut short, it may not be
 * there yet. A lock on the row is a commit of its own that waits for the standby, behind the row's.
 */
export async function selectDurable(
  pool: Pool,
  plants: readonly NewPlant[],
  lockMs = lockMsMax,
): Promise<Map<bigint, NewPlant>> {
  const ids = plants.map(({ id }) => id);
  const { plants: stored, hasStandbys } = await select(pool, ids);
  if (hasStandbys) {
    const lock = {
      text: "SELECT 1 FROM plants WHERE id = ANY ($1::int8[]) ORDER BY id FOR KEY SHARE",
      values: [ids.map(String)],
    };
    await pool.query(withLockLimit(lock, lockMs));
  }
  return stored;
}

export async function select(
  pool: Pool,
  ids: readonly bigint[],
): Promise<{ plants: Map<bigint, NewPlant>; hasStandbys: boolean }> {
  const { rows } = await pool.query<PlantRow & { standbys: string | null }>(
    `SELECT id, name, tag, current_setting('synchronous_standby_names', true) AS standbys
     FROM plants WHERE id = ANY ($1::int8[])`,
    [ids.map(String)],
  );
  return {
    plants: new Map(rows.map((row) => [BigInt(row.id), plantFrom(row)])),
    hasStandbys: (rows[0]?.standbys ?? "") !== "",
  };
}

function plantFrom({ id, name, tag }: PlantRow): NewPlant {
  return tag === null ? { id: BigInt(id), name } : { id: BigInt(id), name, tag };
}
