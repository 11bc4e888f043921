// The optional indexes on PostgreSQL, where a session that waits for a lock blocks all sessions behind it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Client } from "pg";
import type { IndexName } from "../../../../../src/core/store/plant-reader.ts";
import { commandError } from "../../../../support/commands.ts";
import { ConsoleClient } from "../../../../support/console.ts";
import { plantJson, post } from "../../../../support/http.ts";
import { type PostgresDatabases, sharedPostgres } from "../../../../support/postgres.ts";
import { createStore, RunningServer, run, withStore } from "../../../../support/server.ts";

let database: PostgresDatabases;
beforeAll(async () => {
  database = await sharedPostgres();
});
afterAll(() => database[Symbol.asyncDispose]());

const changeIndex = (address: string, change: "create" | "drop", name: IndexName) =>
  withStore(address, "writable", ({ indexes }) => indexes[change](name));

const stateOf = (address: string, name: IndexName) =>
  withStore(address, "existing", async ({ indexes }) => (await indexes.states())[name]);

/** Does some work beside a transaction that stays open, as that of a backup does. */
async function besideTransaction(address: string, sql: string, work: () => Promise<void>): Promise<void> {
  const other = new Client({ connectionString: address });
  await other.connect();
  try {
    await other.query(`BEGIN; ${sql}`);
    await work();
  } finally {
    await other.end();
  }
}

test("creating or dropping newest fails while another transaction holds the table, and creates continue", async () => {
  const { address } = await database.newDatabase();
  await using server = await RunningServer.start({ database: address });
  const target = { url: server.url, token: await server.createToken() };
  const expectToGiveWay = async (change: string) => {
    const changing = server.command("index", change, "newest");
    let isOver = false;
    void changing.then(() => {
      isOver = true;
    });
    for (let id = 0n; !isOver; id++) {
      expect((await post(target, plantJson(id, "Monstera"))).status).toBe(200);
      await Bun.sleep(20);
    }
    const { exitCode, stderr } = await changing;
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr:
        "plantstore: another transaction holds a lock on the table plants, perhaps a backup; try again when it has ended\n",
    });
  };

  await besideTransaction(address, "INSERT INTO plants VALUES (-1, '', NULL)", () =>
    expectToGiveWay("create"),
  );
  await changeIndex(address, "create", "newest");
  await besideTransaction(address, "SELECT FROM plants", () => expectToGiveWay("drop"));
  await changeIndex(address, "drop", "newest");
});

test("the index newest counts as part of the store's size", async () => {
  const { address } = await database.newDatabase();
  await createStore(address);
  const bytes = () => withStore(address, "existing", async (store) => (await store.size()).bytes ?? 0);
  const before = await bytes();
  await changeIndex(address, "create", "newest");
  expect(await bytes()).toBeGreaterThan(before);
});

test("a broken index is not reported as created", async () => {
  const { name, address } = await database.newDatabase();
  await createStore(address);
  // As a server leaves it that was killed meanwhile.
  await database.query(name, "CREATE INDEX plants_by_tag ON plants (tag)");
  await database.query(
    name,
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'plants_by_tag'::regclass",
  );
  const index = (...args: string[]) => run(["index", ...args, "--database", address]);
  expect((await index("list")).stdout).toContain("tag     broken\n");
  expect(await commandError(["index", "create", "tag", "--database", address])).toEqual({
    exitCode: 1,
    stderr: "plantstore: the index tag is broken; drop it, and create it again\n",
  });
  await changeIndex(address, "drop", "tag");
  await changeIndex(address, "create", "tag");
  expect(await stateOf(address, "tag")).toBe("ready");
});

test("an index that another session builds or drops is shown as such, and not changed", async () => {
  const { name, address } = await database.newDatabase();
  await createStore(address);
  await database.query(name, `CREATE USER viewer_${name}`);
  await database.query(name, `GRANT SELECT ON plantstore_schema, plants TO viewer_${name}`);
  const index = (...args: string[]) => run(["index", ...args, "--database", address]);
  const viewer = address.replace("postgres@", `viewer_${name}@`);
  const expectChange = async (change: "create" | "drop", state: string, verb: string) => {
    let changing: ReturnType<typeof index> | undefined;
    await besideTransaction(address, "INSERT INTO plants VALUES (1, '', 'x')", async () => {
      changing = index(change, "tag");
      while ((await stateOf(address, "tag")) !== state) await Bun.sleep(10);
      expect(await stateOf(viewer, "tag")).toBe(state);
      for (const other of ["create", "drop"]) {
        expect(await commandError(["index", other, "tag", "--database", address])).toEqual({
          exitCode: 1,
          stderr: expect.stringContaining(
            `plantstore: the index tag is being ${verb} by another session; wait until "plantstore index list" shows that it has ended\n`,
          ),
        });
      }
    });
    expect((await changing)?.exitCode).toBe(0);
  };
  await expectChange("create", "building", "built");
  expect(await stateOf(address, "tag")).toBe("ready");
  await expectChange("drop", "dropping", "dropped");
  expect(await stateOf(address, "tag")).toBe("none");
});

test("the console shows the phase of an index that it builds, also while that waits for a transaction", async () => {
  const { address } = await database.newDatabase();
  await using server = await RunningServer.start({ database: address });
  const client = await ConsoleClient.of(server);
  const indexes = async () =>
    (await client.read("indexes")).json as {
      changing: { name: string; phase: string | null } | null;
      states: Record<string, string>;
    };
  await besideTransaction(address, "INSERT INTO plants VALUES (1, '', 'x')", async () => {
    expect((await client.write("indexes", { name: "tag", change: "create" })).status).toBe(202);
    while (((await indexes()).changing?.phase ?? null) === null) await Bun.sleep(50);
    expect((await indexes()).changing).toMatchObject({
      name: "tag",
      phase: expect.stringMatching(/^waiting for writers/),
    });
  });
  while ((await indexes()).changing !== null) await Bun.sleep(50);
  expect((await indexes()).states.tag).toBe("ready");
});

test("a role that can only read and insert plants can use the index newest of the owner", async () => {
  const { name, address } = await database.newDatabase();
  await createStore(address);
  await database.query(name, `CREATE USER "server ${name}"`);
  await database.query(name, `GRANT SELECT ON plantstore_schema TO "server ${name}"`);
  await database.query(name, `GRANT SELECT, INSERT ON plants, creators TO "server ${name}"`);
  await database.query(name, `GRANT SELECT, INSERT, UPDATE ON tokens TO "server ${name}"`);
  await changeIndex(address, "create", "newest");
  await using server = await RunningServer.start({
    database: address.replace("postgres@", `${encodeURIComponent(`server ${name}`)}@`),
  });
  const target = { url: server.url, token: await server.createToken() };
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  const { status, json } = await (await ConsoleClient.of(server)).read("plants?sort=created");
  expect([status, json]).toEqual([200, expect.objectContaining({ order: "created", from: "store" })]);
});
