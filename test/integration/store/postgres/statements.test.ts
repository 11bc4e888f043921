// The statements that insert a batch: VALUES, unnest and COPY.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { Client } from "pg";
import type { Plant } from "../../../../src/contract/contract.ts";
import { type Outcome, toEntries } from "../../../../src/store/plant-store.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";
import { createPlants } from "../../../../src/store/postgres/plants.ts";
import { Primary } from "../../../../src/store/postgres/primary.ts";
import { plant, plantStore, toPlants } from "../../../support/contracts.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { anyPlant } from "../../../support/random.ts";
import { createStore } from "../../../support/server.ts";
import { storedPlants } from "../../../support/stored-plants.ts";

const server = await sharedPostgres();
afterAll(() => server[Symbol.asyncDispose]());

/** The engine on an empty database. */
class Engine implements AsyncDisposable {
  readonly name: string;
  readonly unavailable: string[] = [];
  readonly #address: string;
  readonly #primary: Primary;

  private constructor(name: string, address: string) {
    this.name = name;
    this.#address = address;
    this.#primary = new Primary(parsePostgresUrl(address.replace("postgres:", "")));
  }

  /** @param sql is run in the database before the engine connects. */
  static async start(query: string, sql?: (database: string) => string): Promise<Engine> {
    const { name, address } = await server.newDatabase();
    await createStore(address);
    if (sql !== undefined) await server.query(name, sql(name));
    return new Engine(name, `${address}?${query}`);
  }

  /** @param own the times of creation that an import has. */
  create(batch: readonly Plant[], own: { readonly createdAt?: number } = {}): Promise<Outcome[]> {
    const entries = toEntries(plantStore, batch).map((entry) => ({ ...entry, ...own }));
    return createPlants(this.#primary, entries, Date.now(), (reason) => this.unavailable.push(reason));
  }

  /**
   * Runs SQL on the connection that the batches use, which is the only one as long as there is one
   * batch at a time.
   */
  async inSession(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#primary.once((pool) => pool.query<Record<string, unknown>>(sql))).rows;
  }

  async exported(): Promise<Plant[]> {
    return (await storedPlants(this.#address)).map(({ id, values }) => ({ id, values }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#primary.close();
  }
}

/** As on a server that has loaded Citus. */
const withCitus = (database: string) => `ALTER DATABASE ${database} SET citus.shard_count = '32'`;

const ids = (...values: bigint[]) => values.map((id) => plant({ id, name: `plant ${id}` }));

const texts = ["", "NULL", "null", '"', '""', "{a,b}", "a,b", "\\", '\\"', "\\N", " a ", "\t\r\n", "'", "$1"];
const difficult: readonly Plant[] = toPlants([
  { id: -(2n ** 63n), name: "smallest id" },
  { id: 2n ** 63n - 1n, name: "largest id", tag: "" },
  { id: 2n ** 53n + 1n, name: "not a double" },
  ...texts.map((text, index) => ({ id: BigInt(index), name: text, tag: text })),
  ...["é", "水", "🌱", "\u{10ffff}", "\ufffd", "x".repeat(100_000)].map((name, index) => ({
    id: BigInt(100 + index),
    name,
  })),
]);

// A batch of 7 is too small for COPY, and with Citus one of 300 as well.
test.each([
  ["COPY", 1_000, undefined, []],
  ["unnest", 7, undefined, [expect.stringMatching(/^plantstore_insert_[0-9a-f]{32}$/)]],
  ["VALUES", 1_000, withCitus, []],
])(
  "%s: stores plants exactly, and INSERT reports conflicts row by row, with one prepared statement or none",
  async (_, batchPlants, sql, prepared) => {
    await using engine = await Engine.start("", sql);
    const random = fc.sample(fc.uniqueArray(anyPlant, { minLength: 200, selector: ({ id }) => id }), {
      numRuns: 1,
      seed: 1,
    })[0] as Plant[];
    const known = new Set(difficult.map(({ id }) => id));
    const plants = [...difficult, ...random.filter(({ id }) => !known.has(id))];
    for (let start = 0; start < plants.length; start += batchPlants) {
      const batch = plants.slice(start, start + batchPlants);
      expect(await engine.create(batch)).toEqual(batch.map(() => "created"));
    }
    expect(await preparedNames(engine)).toEqual(prepared);
    const byId = plants.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    expect(await engine.exported()).toEqual(byId);

    // The same batch again, with one tag less, one plant that is new, and one of them twice.
    const changed = plant({ id: 0n, name: "" });
    const again = [changed, ...plants.filter(({ id }) => id !== 0n), ...ids(1_000n, 1_000n)];
    expect(await engine.create(again)).toEqual([
      "conflict",
      ...plants.slice(1).map(() => "unchanged" as const),
      "created",
      "unchanged",
    ]);
    expect(engine.unavailable).toEqual([]);
  },
);

test.each([
  ["unnest", undefined, 1],
  ["VALUES", withCitus, 0],
])("%s: a plant has the time of creation that it was given", async (_, sql, prepared) => {
  await using engine = await Engine.start("", sql);
  expect(await engine.create(ids(1n), { createdAt: 5 })).toEqual(["created"]);
  expect(await preparedNames(engine)).toHaveLength(prepared);
  expect(await engine.inSession("SELECT created_at FROM plants")).toEqual([{ created_at: "5" }]);
});

test("VALUES: a batch may have more values than a statement has parameters", async () => {
  await using engine = await Engine.start("", withCitus);
  const batch = ids(...Array.from({ length: 17_000 }, (_, id) => BigInt(id)));
  // It keeps the others from a COPY.
  await engine.create(batch.slice(0, 1));
  const [first, ...others] = await engine.create(batch);
  expect([first, ...new Set(others)]).toEqual(["unchanged", "created"]);
});

test("a plant that is deleted while it is created again is created, unless that happens ten times more", async () => {
  await using engine = await Engine.start("");
  await engine.create(ids(1n));
  // The row is there for the INSERT, and gone for the SELECT after it.
  await engine.inSession(
    `CREATE FUNCTION vanish() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       DELETE FROM plants WHERE id = NEW.id;
       IF FOUND OR NEW.id = 3 THEN RETURN NULL; END IF;
       RETURN NEW;
     END $$;
     CREATE TRIGGER vanish BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION vanish()`,
  );
  expect(await engine.create(ids(1n, 2n, 3n))).toEqual(["created", "created", "unavailable"]);
});

async function preparedNames(engine: Engine): Promise<unknown[]> {
  const rows = await engine.inSession("SELECT name FROM pg_prepared_statements");
  return rows.map(({ name }) => name);
}

test("a connection that is lost is opened, set up and prepared again", async () => {
  await using engine = await Engine.start("statement_timeout=7");
  await engine.create(ids(1n));
  await server.query(
    "postgres",
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${engine.name}'`,
  );
  expect(await engine.create(ids(1n, 2n))).toEqual(["unchanged", "created"]);
  const parameters =
    "current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock, current_setting('idle_in_transaction_session_timeout') AS idle";
  expect(await engine.inSession(`SELECT ${parameters}`)).toEqual([
    { statement: "7s", lock: "250ms", idle: "10s" },
  ]);
  expect(engine.unavailable).toEqual([]);
});

test("a COPY of a plant that is stored is undone, and its connection is kept", async () => {
  await using engine = await Engine.start("");
  const batch = ids(...Array.from({ length: 100 }, (_, index) => BigInt(index)));
  const pid = () => engine.inSession("SELECT pg_backend_pid() AS pid");
  expect(new Set(await engine.create(batch.slice(1)))).toEqual(new Set(["created"]));
  const before = await pid();
  expect(await engine.create(batch)).toEqual(["created", ...batch.slice(1).map(() => "unchanged" as const)]);
  expect(await engine.create(ids(-1n, 0n))).toEqual(["created", "unchanged"]);
  expect(await pid()).toEqual(before);
});

// By COPY, and by INSERT.
test.each([40, 5])(
  "%d plants are written in the order of their ids, so that two batches cannot deadlock",
  async (count) => {
    await using engine = await Engine.start("");
    const ascending = ids(...Array.from({ length: count }, (_, id) => BigInt(id)));
    await engine.create(ascending.toReversed());
    const rows = await engine.inSession("SELECT id FROM plants ORDER BY ctid");
    expect(rows.map(({ id }) => BigInt(String(id)))).toEqual(ascending.map(({ id }) => id as bigint));
  },
);

test("a batch waits as a whole for a table that is locked", async () => {
  await using engine = await Engine.start("retry_timeout=1");
  const other = new Client({ connectionString: server.address(engine.name) });
  await other.connect();
  await other.query("BEGIN; LOCK TABLE plants");
  expect(await engine.create(ids(1n, 2n, 3n))).toEqual(Array(3).fill("unavailable"));
  expect(engine.unavailable).toHaveLength(1);
  await other.end();
});

test.each([40, 5])(
  "of %d plants only those fail that another program has locked, or the database refuses",
  async (count) => {
    await using engine = await Engine.start("");
    await engine.create(ids(1n));
    await engine.inSession("ALTER TABLE plants ADD CONSTRAINT refused CHECK (id <> 3)");
    const other = new Client({ connectionString: server.address(engine.name) });
    await other.connect();
    await other.query("BEGIN; DELETE FROM plants WHERE id = 1");
    await other.query("INSERT INTO plants (id, name, created_at) VALUES (2, 'Hoya', 1)");
    const batch = ids(...Array.from({ length: count }, (_, id) => BigInt(id)));
    const outcomes = batch.map(({ id }) => ([1n, 2n, 3n].includes(id as bigint) ? "unavailable" : "created"));
    expect<string[]>(await engine.create(batch)).toEqual(outcomes);
    expect(engine.unavailable.map((reason) => reason.replace(/^.*\(|\)$/g, ""))).toEqual([
      "55P03",
      "55P03",
      "23514",
    ]);
    await other.query("ROLLBACK");
    await other.end();
    const again = batch.map(({ id }) => (id === 2n ? "created" : id === 3n ? "unavailable" : "unchanged"));
    expect<string[]>(await engine.create(batch)).toEqual(again);
  },
);

test("no plant is acknowledged while a table is unlogged", async () => {
  const tables = ["creators", "edits", "plants", "token_version", "tokens"];
  const alter = (kind: string) => tables.map((table) => `ALTER TABLE ${table} SET ${kind}`).join("; ");
  await using engine = await Engine.start("retry_timeout=1", () => alter("UNLOGGED"));
  expect(await engine.create(ids(1n))).toEqual(["unavailable"]);
  const reason = `has ${tables.join(" and ")} as an unlogged table, which a crash empties`;
  expect(engine.unavailable.join()).toContain(reason);
  await server.query(engine.name, alter("LOGGED"));
  expect(await engine.create(ids(3n))).toEqual(["created"]);
});

test.each([
  ["off", "on"],
  ["remote_write", "on"],
  ["remote_apply", "remote_apply"],
])(
  "with synchronous_commit %s of the database that of a session is %s, and a backslash is a backslash",
  async (given, used) => {
    const settings = { synchronous_commit: given, standard_conforming_strings: "off" };
    await using engine = await Engine.start("", (database) =>
      Object.entries(settings)
        .map(([name, value]) => `ALTER DATABASE ${database} SET ${name} = ${value}`)
        .join("; "),
    );
    expect(
      await engine.inSession(
        String.raw`SELECT current_setting('synchronous_commit') AS used, 'C:\new\tab' AS path`,
      ),
    ).toEqual([{ used, path: String.raw`C:\new\tab` }]);
  },
);
