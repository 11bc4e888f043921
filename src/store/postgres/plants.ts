// The plants table: batches in, plants out. The statements are those that PostgreSQL, Citus, CockroachDB and
// YugabyteDB share.

import { type NewPlant, samePlant } from "../../contract/plant.ts";
import type { ObserveUnavailable, Outcome } from "../plant-store.ts";
import type { Pool, PoolClient } from "./driver.ts";
import { failureOf, reasonOf, Vanished } from "./failures.ts";
import type { Primary } from "./primary.ts";

interface PlantRow {
  /** int8 comes as its digits. */
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

const exportRows = 1_000;

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
      return this.#judgeAlone(batch, failure === "alone" && batch.length > 1);
    }
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    return (await this.#primary.run((pool) => select(pool, [id]))).get(id);
  }

  /** All plants by id, from one snapshot, by a cursor. */
  async *export(): AsyncGenerator<NewPlant> {
    const connection = await this.#primary.runOnce((pool) => pool.connect());
    try {
      await connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      await connection.query(
        "DECLARE all_plants NO SCROLL CURSOR FOR SELECT id, name, tag FROM plants ORDER BY id",
      );
      yield* fetchAll(connection);
    } finally {
      connection.release(true);
    }
  }

  /** Replays and conflicts have their answer without a write, and one row's fault is not its neighbours'. */
  async #judgeAlone(batch: readonly NewPlant[], mayWrite: boolean): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const plant of batch) {
      try {
        const stored = await this.get(plant.id);
        if (stored !== undefined) outcomes.push(samePlant(stored, plant) ? "unchanged" : "conflict");
        else outcomes.push(mayWrite ? ((await this.create([plant]))[0] ?? "unavailable") : "unavailable");
      } catch (error) {
        if (failureOf(error) === "fault") throw error;
        outcomes.push("unavailable");
      }
    }
    return outcomes;
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
  const stored =
    others.length === 0
      ? new Map()
      : await select(
          pool,
          others.map(({ id }) => id),
        );
  return batch.map((plant) => {
    const first = firstById.get(plant.id);
    if (createdIds.has(plant.id) && first === plant) return "created";
    const there = createdIds.has(plant.id) ? first : stored.get(plant.id);
    if (there === undefined) throw new Vanished(`the plant ${plant.id} was neither inserted nor found`);
    return samePlant(there, plant) ? "unchanged" : "conflict";
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

async function select(pool: Pool, ids: readonly bigint[]): Promise<Map<bigint, NewPlant>> {
  const { rows } = await pool.query<PlantRow>(
    "SELECT id, name, tag FROM plants WHERE id = ANY ($1::int8[])",
    [ids.map(String)],
  );
  return new Map(rows.map((row) => [BigInt(row.id), plantFrom(row)]));
}

async function* fetchAll(connection: PoolClient): AsyncGenerator<NewPlant> {
  for (;;) {
    const { rows } = await connection.query<PlantRow>(`FETCH ${exportRows} FROM all_plants`);
    for (const row of rows) yield plantFrom(row);
    if (rows.length < exportRows) return;
  }
}

function plantFrom({ id, name, tag }: PlantRow): NewPlant {
  return tag === null ? { id: BigInt(id), name } : { id: BigInt(id), name, tag };
}
