// The statements that insert a batch: VALUES and unnest, named and unnamed, and what happens to
// names that are lost. How many statements of edits are sent together.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { NewPlant } from "../../../../../src/core/contract/plant.ts";
import { type Outcome, toEntries } from "../../../../../src/core/store/plant-store.ts";
import { parsePostgresUrl } from "../../../../../src/core/store/postgres/connection-url.ts";
import { exportPlants } from "../../../../../src/core/store/postgres/export.ts";
import { PostgresPlants } from "../../../../../src/core/store/postgres/plants.ts";
import { Primary } from "../../../../../src/core/store/postgres/primary.ts";
import { EditRun } from "../../../../../src/operations/edits.ts";
import { sharedPostgres } from "../../../../support/postgres.ts";
import { anyNewPlant } from "../../../../support/random.ts";
import { createStore } from "../../../../support/server.ts";
import { openedStore } from "../../../../support/stored-plants.ts";

const server = await sharedPostgres();
afterAll(() => server[Symbol.asyncDispose]());

/** The engine on an empty database. */
class Engine implements AsyncDisposable {
  readonly name: string;
  readonly unavailable: string[] = [];
  readonly #primary: Primary;
  readonly #plants: PostgresPlants;

  private constructor(name: string, address: string) {
    this.name = name;
    this.#primary = new Primary(parsePostgresUrl(address.replace("postgres:", "")));
    this.#plants = new PostgresPlants(this.#primary, (reason) => this.unavailable.push(reason));
  }

  /** @param sql is run in the database before the engine connects. */
  static async start(query: string, sql?: (database: string) => string): Promise<Engine> {
    const { name, address } = await server.newDatabase();
    await createStore(address);
    if (sql !== undefined) await server.query(name, sql(name));
    return new Engine(name, `${address}?${query}`);
  }

  create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    return this.#plants.create(toEntries(batch));
  }

  /** How the engine inserts now. */
  inserts(): Promise<string> {
    return this.#primary.once(
      async ({ traits }) => `${traits.namesStatements ? "named" : "unnamed"} ${traits.insertMethod}`,
    );
  }

  /**
   * Runs SQL on the connection that the batches use, which is the only one as long as there is one
   * batch at a time.
   */
  async inSession(sql: string): Promise<Record<string, unknown>[]> {
    return (
      await this.#primary.once((pool) => pool.query<Record<string, unknown>>({ text: sql, isAlone: true }))
    ).rows;
  }

  preparedStatements(): Promise<Record<string, unknown>[]> {
    return this.inSession("SELECT name FROM pg_prepared_statements ORDER BY name");
  }

  async exported(): Promise<NewPlant[]> {
    const plants = (await Array.fromAsync(exportPlants(this.#primary, {}))).flat();
    return plants.map((plant) => ({ ...plant, id: BigInt(plant.id) }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#primary.close();
  }
}

/** As on a server that has loaded Citus. */
const withCitus = (database: string) => `ALTER DATABASE ${database} SET citus.shard_count = '32'`;

const ids = (...values: bigint[]) => values.map((id) => ({ id, name: `plant ${id}` }));

const texts = ["", "NULL", "null", '"', '""', "{a,b}", "a,b", "\\", '\\"', "\\N", " a ", "\t\r\n", "'", "$1"];
const difficult: readonly NewPlant[] = [
  { id: -(2n ** 63n), name: "smallest id" },
  { id: 2n ** 63n - 1n, name: "largest id", tag: "" },
  { id: 2n ** 53n + 1n, name: "not a double" },
  ...texts.map((text, index) => ({ id: BigInt(index), name: text, tag: text })),
  ...["é", "水", "🌱", "\u{10ffff}", "\ufffd", "x".repeat(100_000)].map((name, index) => ({
    id: BigInt(100 + index),
    name,
  })),
];

test.each([
  ["unnamed unnest", "statements=unnamed", undefined, []],
  // The default on a direct connection.
  ["named unnest", "", undefined, ["plantstore_insert", "plantstore_settings"]],
  ["named values", "statements=named", withCitus, []],
])(
  "%s: stores plants exactly, reports conflicts row by row, and prepares one statement for all sizes or none",
  async (inserts, query, sql, prepared) => {
    await using engine = await Engine.start(query, sql);
    expect(await engine.inserts()).toBe(inserts);
    const random = fc.sample(fc.uniqueArray(anyNewPlant, { minLength: 200, selector: ({ id }) => id }), {
      numRuns: 1,
      seed: 1,
    })[0] as NewPlant[];
    const known = new Set(difficult.map(({ id }) => id));
    const plants = [...difficult, ...random.filter(({ id }) => !known.has(id))];
    expect(new Set(await engine.create(plants))).toEqual(new Set(["created"]));
    const byId = plants.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    expect(await engine.exported()).toEqual(byId);

    // The same batch again, with one tag less, one plant that is new, and one of them twice.
    const changed = { id: 0n, name: "" };
    const again = [changed, ...plants.filter(({ id }) => id !== 0n), ...ids(1_000n, 1_000n)];
    expect(await engine.create(again)).toEqual([
      "conflict",
      ...plants.slice(1).map(() => "unchanged" as const),
      "created",
      "unchanged",
    ]);
    expect(engine.unavailable).toEqual([]);
    expect(await engine.preparedStatements()).toEqual(prepared.map((name) => ({ name })));
  },
);

test("a connection that is lost is prepared again", async () => {
  await using engine = await Engine.start("statements=named");
  await engine.create(ids(1n));
  await server.query(
    "postgres",
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${engine.name}'`,
  );
  expect(await engine.create(ids(1n, 2n))).toEqual(["unchanged", "created"]);
  expect(await engine.inserts()).toBe("named unnest");
});

test.each(["DISCARD ALL", "DEALLOCATE plantstore_insert", "DEALLOCATE plantstore_settings"])(
  "after %s in its session the engine continues without names",
  async (sql) => {
    await using engine = await Engine.start("statements=named");
    await engine.create(ids(1n));
    await engine.inSession(sql);
    expect(await engine.create(ids(1n, 2n))).toEqual(["unchanged", "created"]);
    expect(await engine.inserts()).toBe("unnamed unnest");
    expect(engine.unavailable).toEqual([]);
  },
);

test("changes of the schema do not fail a batch", async () => {
  await using engine = await Engine.start("statements=named");
  await engine.create(ids(1n));
  // The first one changes the plan, the second one the type that RETURNING has.
  for (const sql of [
    "ALTER TABLE plants ADD COLUMN note text",
    "ALTER TABLE plants ALTER COLUMN id TYPE numeric",
    "ALTER TABLE plants ALTER COLUMN id TYPE bigint",
  ]) {
    await server.query(engine.name, sql);
    const id = BigInt(sql.length);
    expect([sql, await engine.create(ids(1n, id))]).toEqual([sql, ["unchanged", "created"]]);
    expect(await engine.create(ids(id))).toEqual(["unchanged"]);
  }
  expect(await engine.inserts()).toBe("named unnest");
  expect(engine.unavailable).toEqual([]);
});

test("a row that the database rejects does not fail the others, nor the replay of one that is stored", async () => {
  await using engine = await Engine.start("statements=named");
  const long = (id: bigint, letter = "x") => ({ id, name: letter.repeat(20) });
  await engine.create([long(4n)]);
  const constraint = "ADD CONSTRAINT short CHECK (length(name) < 20) NOT VALID";
  await server.query(engine.name, `ALTER TABLE plants ${constraint}`);
  const batch = [...ids(1n), long(2n), ...ids(3n), long(4n), long(4n, "y"), ...ids(3n)];
  expect(await engine.create(batch)).toEqual([
    "created",
    "unavailable",
    "created",
    "unchanged",
    "conflict",
    "unchanged",
  ]);
});

/** A trigger that skips the plants with the name "skipped", and one that was stored before. */
const skipping =
  () => `INSERT INTO plants (id, name) VALUES (2, 'skipped'); CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN IF NEW.name = 'skipped' THEN RETURN NULL; END IF; RETURN NEW; END $$;
  CREATE TRIGGER skip BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION skip()`;

/** More plants than those, and the engine uses COPY. */
const copied = 2_500;

test.each([
  ["INSERT", 3],
  ["COPY", copied],
])(
  "a plant that a trigger skips is unavailable or a replay, and the others of its batch are created: %s",
  async (_, length) => {
    await using engine = await Engine.start("retry_timeout=30", skipping);
    const batch = Array.from({ length }, (_, index) => ({
      id: BigInt(index),
      name: index === 1 || index === 2 ? "skipped" : "a",
    }));
    const startedAt = performance.now();
    const outcomes = await engine.create(batch);
    expect(outcomes.splice(1, 2)).toEqual(["unavailable", "unchanged"]);
    expect(new Set(outcomes)).toEqual(new Set(["created"]));
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(engine.unavailable.join()).toContain("or a trigger skips them");
    expect(await engine.exported()).toEqual(batch.filter(({ id }) => id !== 1n));
  },
);

test("a COPY of a plant that is stored is undone, and its connection is kept", async () => {
  await using engine = await Engine.start("");
  const batch = ids(...Array.from({ length: copied }, (_, index) => BigInt(index)));
  const pid = () => engine.inSession("SELECT pg_backend_pid() AS pid");
  expect(new Set(await engine.create(batch.slice(1)))).toEqual(new Set(["created"]));
  const before = await pid();
  expect(await engine.create(batch)).toEqual(["created", ...batch.slice(1).map(() => "unchanged" as const)]);
  expect(await engine.create(ids(-1n, 0n))).toEqual(["created", "unchanged"]);
  expect(await pid()).toEqual(before);
});

/**
 * CockroachDB's version, and its error (pgwire/conn.go) for a COPY beside other statements in one
 * query.
 */
const asCockroach = (
  database: string,
) => `CREATE FUNCTION version() RETURNS text LANGUAGE sql AS $$ SELECT 'CockroachDB CCL v24.3.1' $$;
  ALTER DATABASE ${database} SET search_path = public, pg_catalog;
  CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN IF current_query() ~ ';.*COPY' THEN RAISE EXCEPTION 'not supported' USING ERRCODE = '08P01'; END IF; RETURN NULL; END $$;
  CREATE TRIGGER reject BEFORE INSERT ON plants EXECUTE FUNCTION reject()`;

test("a large batch is committed on CockroachDB", async () => {
  await using engine = await Engine.start("retry_timeout=1", asCockroach);
  const batch = ids(...Array.from({ length: copied }, (_, index) => BigInt(index)));
  expect(new Set(await engine.create(batch))).toEqual(new Set(["created"]));
  expect(engine.unavailable).toEqual([]);
});

test.each([
  ["plants", 1],
  ["tokens", 1],
  ["plants", copied],
])("no plant is acknowledged while the table %s is unlogged, in a batch of %d", async (table, length) => {
  await using engine = await Engine.start("retry_timeout=1");
  expect(await engine.create(ids(1n))).toEqual(["created"]);
  await server.query(engine.name, `ALTER TABLE ${table} SET UNLOGGED`);
  const batch = ids(...Array.from({ length }, (_, index) => BigInt(10 + index)));
  expect(new Set(await engine.create(batch))).toEqual(new Set(["unavailable"]));
  expect(engine.unavailable.join()).toContain(`has ${table} as an unlogged table, which a crash empties`);
  await server.query(engine.name, `ALTER TABLE ${table} SET LOGGED`);
  expect(await engine.create(ids(3n))).toEqual(["created"]);
});

/** Records each edit, and when the server received the statements that were sent with it. */
const recordingSql = `CREATE TABLE sent (name text, at timestamptz);
  CREATE FUNCTION record_sent() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO sent VALUES (TG_TABLE_NAME, statement_timestamp()); RETURN NULL; END $$;
  CREATE TRIGGER sent AFTER UPDATE ON plants FOR EACH ROW EXECUTE FUNCTION record_sent();
  CREATE TRIGGER sent AFTER INSERT ON edits FOR EACH ROW EXECUTE FUNCTION record_sent()`;

test("short edits are sent together, and long ones in parts, each of which has the time of a statement", async () => {
  const { name: database, address } = await server.newDatabase();
  await using store = await openedStore(address);
  await server.query(database, recordingSql);
  const edit = async (plants: readonly NewPlant[]) => {
    await store.create(toEntries(plants));
    const run = new EditRun(store, { by: "command", user: "ada" });
    const outcomes = await run.edit(
      plants.map(({ id, name }) => ({ id, expected: { name }, replacement: { name, tag: "edited" } })),
    );
    expect(new Set(outcomes)).toEqual(new Set(["done"]));
    const sent = await server.query(
      database,
      "SELECT name, count(*)::integer AS edits FROM sent GROUP BY name, at ORDER BY at",
    );
    await server.query(database, "TRUNCATE sent");
    const of = (table: string) => sent.filter(({ name }) => name === table).map(({ edits }) => edits);
    return { written: of("plants"), recorded: of("edits") };
  };
  // Each edit has its name twice, and 1 Mi letters are sent together. One that has more goes alone.
  const lengths = [200_000, 200_000, 600_000, 200_000, 200_000, 200_000];
  expect(
    await edit(lengths.map((length, index) => ({ id: BigInt(1_000 + index), name: "x".repeat(length) }))),
  ).toEqual({
    written: [2, 1, 2, 1],
    recorded: [2, 1, 2, 1],
  });
  expect(await edit(ids(...Array.from({ length: 200 }, (_, index) => BigInt(index))))).toEqual({
    written: [200],
    recorded: [200],
  });
});
