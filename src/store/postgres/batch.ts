// Batches into the plants table. The statements are those that PostgreSQL, Citus, CockroachDB and YugabyteDB share.

import type { NewPlant } from "../../contract/plant.ts";
import { type Outcome, outcomeBeside } from "../plant-store.ts";
import { copyTextOf } from "./copy-text.ts";
import { copyFrom, DatabaseError, type Pool } from "./driver.ts";
import { Vanished } from "./failures.ts";

interface PlantRow {
  /** int8 comes as its digits. */
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** What became of rows: the ids of those that were created, and the plants that were there. */
interface Created {
  readonly createdIds: ReadonlySet<bigint>;
  readonly stored: ReadonlyMap<bigint, NewPlant>;
}

/** From so many rows on a batch is an import's: COPY takes 500,000 rows a second, INSERT 100,000. */
const copyRowsMin = 2_000;

/** Rows of one INSERT: the protocol counts its parameters, three a row, in 16 bits. */
const insertRowsMax = 20_000;

const uniqueViolation = "23505";

/** Commits a batch, and gives its outcomes; safe to repeat. Rejects with what PostgreSQL says, and then see failureOf. */
export async function commitBatch(pool: Pool, batch: readonly NewPlant[]): Promise<Outcome[]> {
  // Two batches that take their rows in one order cannot wait for each other in a circle.
  const rows = isAscending(batch) ? batch : withoutRepetitions(batch.toSorted(byId));
  if (rows.length < copyRowsMin) return outcomesOf(batch, rows, await insertAll(pool, rows));
  const isCopied = await copy(pool, rows);
  // Without looking at ids: sets and maps of bigints cost as much as the COPY.
  if (isCopied && rows.length === batch.length) return batch.map(() => "created");
  const created = isCopied ? { createdIds: idsOf(rows), stored: new Map() } : await copyRest(pool, rows);
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
  { createdIds, stored }: Created,
): Outcome[] {
  const rowById = new Map(rows.map((row) => [row.id, row]));
  return batch.map((plant) => {
    const isCreated = createdIds.has(plant.id);
    const row = rowById.get(plant.id);
    if (isCreated && row === plant) return "created";
    const there = isCreated ? row : stored.get(plant.id);
    if (there === undefined) throw new Vanished(`the plant ${plant.id} was neither inserted nor found`);
    return outcomeBeside(there, plant);
  });
}

/**
 * One round trip where every plant is new; a second one reads what was there already. The read sees every row
 * that kept the insert from its own: under READ COMMITTED as a later statement, under SERIALIZABLE because the
 * insert itself fails with 40001 on a row that it cannot see, and is tried again.
 */
async function insertAll(pool: Pool, rows: readonly NewPlant[]): Promise<Created> {
  const createdIds = new Set<bigint>();
  for (let start = 0; start < rows.length; start += insertRowsMax) {
    const inserted = await insert(pool, rows.slice(start, start + insertRowsMax));
    for (const id of inserted) createdIds.add(id);
  }
  const others = rows.filter(({ id }) => !createdIds.has(id));
  return { createdIds, stored: others.length === 0 ? new Map() : await selectStable(pool, others) };
}

/**
 * Where COPY found an id taken: what is there is read, and the rest copied. If that fails too, somebody creates the
 * same plants at this moment, and INSERT tells row by row.
 */
async function copyRest(pool: Pool, rows: readonly NewPlant[]): Promise<Created> {
  const stored = await selectStable(pool, rows);
  const missing = rows.filter(({ id }) => !stored.has(id));
  if (missing.length === 0 || (await copy(pool, missing))) return { createdIds: idsOf(missing), stored };
  const rest = await insertAll(pool, missing);
  return { createdIds: rest.createdIds, stored: new Map([...stored, ...rest.stored]) };
}

/** Whether all rows were created; if a single id is taken, none is. */
async function copy(pool: Pool, rows: readonly NewPlant[]): Promise<boolean> {
  const connection = await pool.connect();
  try {
    const stream = connection.query(copyFrom("COPY plants (id, name, tag) FROM STDIN"));
    await new Promise<void>((resolve, reject) => {
      stream
        .once("finish", resolve)
        .on("error", reject)
        .end(Buffer.from(copyTextOf(rows)));
    });
    connection.release();
    return true;
  } catch (error) {
    // What PostgreSQL itself refused, it has done with; of any other connection nobody knows the state.
    connection.release(!(error instanceof DatabaseError));
    if (error instanceof DatabaseError && error.code === uniqueViolation) return false;
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
async function insert(pool: Pool, rows: readonly NewPlant[]): Promise<Set<bigint>> {
  const places = rows.map((_, row) => `($${3 * row + 1}::int8,$${3 * row + 2}::text,$${3 * row + 3}::text)`);
  const { rows: inserted } = await pool.query<[string]>({
    text: `INSERT INTO plants (id, name, tag) VALUES ${places.join(",")} ON CONFLICT (id) DO NOTHING RETURNING id`,
    values: rows.flatMap(({ id, name, tag }) => [String(id), name, tag ?? null]),
    rowMode: "array",
  });
  return new Set(inserted.map(([id]) => BigInt(id)));
}

/**
 * The plants with the ids of some others, once they are as safe as a commit is. A row is seen as soon as it is
 * committed on this host; where a synchronous standby is asked for, and the wait for it was cut short, it may not be
 * there yet. A lock on the row is a commit of its own that waits for the standby, behind the row's.
 */
export async function selectStable(pool: Pool, plants: readonly NewPlant[]): Promise<Map<bigint, NewPlant>> {
  const ids = plants.map(({ id }) => id);
  const { plants: stored, hasStandbys } = await select(pool, ids);
  if (hasStandbys) {
    await pool.query("SELECT 1 FROM plants WHERE id = ANY ($1::int8[]) ORDER BY id FOR KEY SHARE", [
      ids.map(String),
    ]);
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
