// The plants table: batches in, plants out. The statements are those that PostgreSQL, Citus, CockroachDB and
// YugabyteDB share.

import type { NewPlant } from "../../contract/plant.ts";
import { type ObserveUnavailable, type Outcome, outcomeBeside } from "../plant-store.ts";
import type { Pool, PoolClient } from "./driver.ts";
import { failureOf, reasonOf, rejectForOperator, Vanished } from "./failures.ts";
import type { Primary } from "./primary.ts";

interface PlantRow {
  /** int8 comes as its digits. */
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** Rows of one FETCH: at a megabyte a plant, the largest by default, 100 MB. */
const exportRows = 100;

/** An export reads as slowly as its reader does; a statement of it is not a batch that somebody waits for. */
const exportMsMax = 600_000;

export class PostgresPlants {
  readonly #primary: Primary;
  readonly #observe: ObserveUnavailable;

  constructor(primary: Primary, observe: ObserveUnavailable) {
    this.#primary = primary;
    this.#observe = observe;
  }

  /** Commits a batch in one statement; where the rows are at fault, each plant in one of its own. See PlantStore.create. */
  async create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    try {
      return await this.#primary.run((pool) => commit(pool, batch));
    } catch (error) {
      const failure = failureOf(error);
      if (failure === "fault") throw error;
      this.#observe(reasonOf(error));
      if (failure === "lost" || failure === "again") return batch.map(() => "unavailable");
      return this.#judgeEach(batch, failure === "alone" && batch.length > 1);
    }
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    return (await this.#primary.run((pool) => select(pool, [id])).catch(rejectForOperator)).plants.get(id);
  }

  /** All plants by id, from one snapshot, by a cursor. */
  async *export(): AsyncGenerator<NewPlant> {
    const connection = await this.#primary.runOnce((pool) => pool.connect()).catch(rejectForOperator);
    try {
      await connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      await connection.query(
        "DECLARE all_plants NO SCROLL CURSOR FOR SELECT id, name, tag FROM plants ORDER BY id",
      );
      yield* fetchAll(connection);
    } catch (error) {
      await rejectForOperator(error);
    } finally {
      connection.release(true);
    }
  }

  /** Replays and conflicts have their answer without a write, and one row's fault is not its neighbours'. */
  async #judgeEach(batch: readonly NewPlant[], mayWrite: boolean): Promise<Outcome[]> {
    try {
      const stored = await this.#primary.runOnce((pool) => selectStable(pool, batch));
      const outcomes: Outcome[] = [];
      for (const plant of batch) {
        const there = stored.get(plant.id);
        if (there !== undefined) outcomes.push(outcomeBeside(there, plant));
        else outcomes.push(mayWrite ? await this.#createAlone(plant) : "unavailable");
      }
      return outcomes;
    } catch (error) {
      if (failureOf(error) === "fault") throw error;
      this.#observe(reasonOf(error));
      return batch.map(() => "unavailable");
    }
  }

  async #createAlone(plant: NewPlant): Promise<Outcome> {
    try {
      const [outcome = "unavailable"] = await this.#primary.runOnce((pool) => commit(pool, [plant]));
      return outcome;
    } catch (error) {
      if (failureOf(error) !== "alone") throw error;
      this.#observe(reasonOf(error));
      return "unavailable";
    }
  }
}

/**
 * One round trip where every plant is new; a second one reads what was there already. The read sees every row
 * that kept the insert from its own: under READ COMMITTED as a later statement, under SERIALIZABLE because the
 * insert itself fails with 40001 on a row that it cannot see, and is tried again.
 */
async function commit(pool: Pool, batch: readonly NewPlant[]): Promise<Outcome[]> {
  const firstById = new Map<bigint, NewPlant>();
  for (const plant of batch) if (!firstById.has(plant.id)) firstById.set(plant.id, plant);
  // Two batches that take their rows in one order cannot wait for each other in a circle.
  const rows = [...firstById.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1));

  const createdIds = await insert(pool, rows);
  const others = createdIds.size === rows.length ? [] : rows.filter(({ id }) => !createdIds.has(id));
  const stored = others.length === 0 ? new Map<bigint, NewPlant>() : await selectStable(pool, others);
  return batch.map((plant) => {
    const first = firstById.get(plant.id);
    if (createdIds.has(plant.id) && first === plant) return "created";
    const there = createdIds.has(plant.id) ? first : stored.get(plant.id);
    if (there === undefined) throw new Vanished(`the plant ${plant.id} was neither inserted nor found`);
    return outcomeBeside(there, plant);
  });
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
async function selectStable(pool: Pool, plants: readonly NewPlant[]): Promise<Map<bigint, NewPlant>> {
  const ids = plants.map(({ id }) => id);
  const { plants: stored, hasStandbys } = await select(pool, ids);
  if (hasStandbys) {
    await pool.query("SELECT 1 FROM plants WHERE id = ANY ($1::int8[]) ORDER BY id FOR KEY SHARE", [
      ids.map(String),
    ]);
  }
  return stored;
}

async function select(
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

const fetchSome = { text: `FETCH ${exportRows} FROM all_plants`, query_timeout: exportMsMax };

async function* fetchAll(connection: PoolClient): AsyncGenerator<NewPlant> {
  for (;;) {
    const { rows } = await connection.query<PlantRow>(fetchSome);
    for (const row of rows) yield plantFrom(row);
    if (rows.length < exportRows) return;
  }
}

function plantFrom({ id, name, tag }: PlantRow): NewPlant {
  return tag === null ? { id: BigInt(id), name } : { id: BigInt(id), name, tag };
}
