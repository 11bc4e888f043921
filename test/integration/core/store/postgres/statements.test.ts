// The statements that insert a batch: VALUES, unnest and COPY. How many statements of edits are sent
// together.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { NewPlant } from "../../../../../src/core/contract/plant.ts";
import { type Outcome, toEntries } from "../../../../../src/core/store/plant-store.ts";
import { parsePostgresUrl } from "../../../../../src/core/store/postgres/connection-url.ts";
import { PostgresPlants } from "../../../../../src/core/store/postgres/plants.ts";
import { Primary } from "../../../../../src/core/store/postgres/primary.ts";
import { EditRun } from "../../../../../src/operations/edits.ts";
import { sharedPostgres } from "../../../../support/postgres.ts";
import { anyNewPlant } from "../../../../support/random.ts";
import { createStore } from "../../../../support/server.ts";
import { openedStore, storedPlants } from "../../../../support/stored-plants.ts";

const server = await sharedPostgres();
afterAll(() => server[Symbol.asyncDispose]());

/** The engine on an empty database. */
class Engine implements AsyncDisposable {
  readonly name: string;
  readonly unavailable: string[] = [];
  readonly #address: string;
  readonly #primary: Primary;
  readonly #plants: PostgresPlants;

  private constructor(name: string, address: string) {
    this.name = name;
    this.#address = address;
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

  /**
   * Runs SQL on the connection that the batches use, which is the only one as long as there is one
   * batch at a time.
   */
  async inSession(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#primary.once((pool) => pool.query<Record<string, unknown>>(sql))).rows;
  }

  async exported(): Promise<NewPlant[]> {
    return (await storedPlants(this.#address)).map(({ creation: _, ...plant }) => plant);
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
  ["unnest", undefined, ["plantstore_insert"]],
  ["VALUES", withCitus, []],
])(
  "%s: stores plants exactly, reports conflicts row by row, and prepares one statement for all sizes or none",
  async (_, sql, prepared) => {
    await using engine = await Engine.start("", sql);
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
    expect(await engine.inSession("SELECT name FROM pg_prepared_statements")).toEqual(
      prepared.map((name) => ({ name })),
    );
  },
);

test("a connection that is lost is opened, set up and prepared again", async () => {
  await using engine = await Engine.start("statement_timeout=7");
  await engine.create(ids(1n));
  await server.query(
    "postgres",
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${engine.name}'`,
  );
  expect(await engine.create(ids(1n, 2n))).toEqual(["unchanged", "created"]);
  const parameters =
    "current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock";
  expect(await engine.inSession(`SELECT ${parameters}`)).toEqual([{ statement: "7s", lock: "1s" }]);
  expect(engine.unavailable).toEqual([]);
});

test("a row that the database rejects does not fail the others", async () => {
  await using engine = await Engine.start("");
  await server.query(engine.name, "ALTER TABLE plants ADD CONSTRAINT short CHECK (length(name) < 20)");
  const batch = [...ids(1n), { id: 2n, name: "x".repeat(20) }, ...ids(3n, 3n)];
  expect(await engine.create(batch)).toEqual(["created", "unavailable", "created", "unchanged"]);
});

/** More plants than those, and the engine uses COPY. */
const copied = 2_500;

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

test.each(["plants", "tokens"])("no plant is acknowledged on an unlogged table %s", async (table) => {
  const setUnlogged = () => `ALTER TABLE ${table} SET UNLOGGED`;
  await using engine = await Engine.start("retry_timeout=1", setUnlogged);
  expect(await engine.create(ids(1n))).toEqual(["unavailable"]);
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
