// Locks of other transactions on the table or on rows: which requests wait, for how long, and which
// continue.

import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Client } from "pg";
import { storeAt } from "../../../src/core/store/open-store.ts";
import { toEntries } from "../../../src/core/store/plant-store.ts";
import { eventually } from "../../support/eventually.ts";
import { Load } from "../../support/load.ts";
import { PostgresServer, sharedPostgres } from "../../support/postgres.ts";
import { RunningServer } from "../../support/server.ts";

setDefaultTimeout(90_000);

const database = await sharedPostgres();
afterAll(() => database[Symbol.asyncDispose]());

/** A transaction of another session, until it is rolled back. */
async function otherTransaction(address: string, sql: string): Promise<Client> {
  const other = new Client({ connectionString: address });
  await other.connect();
  await other.query(`BEGIN; ${sql}`);
  return other;
}

async function backends(name: string): Promise<number> {
  const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}' AND application_name = 'plantstore'`;
  return (await database.query("postgres", sql)).length;
}

/** Waits until the 16 clients of a load were refused three times; `look` is called meanwhile. */
async function threeRoundsTimeOut(load: Load, look: () => Promise<void>): Promise<void> {
  await eventually(
    "48 creates are answered with 503",
    async () => {
      await look();
      return load.statuses.get(503) ?? 0;
    },
    (answers) => answers >= 48,
  );
}

// Each waits for several time-outs.
describe.concurrent("statements that time out are cancelled, and afterwards plants are created", () => {
  test("while the table is locked", async () => {
    const { name, address } = await database.newDatabase();
    await using server = await RunningServer.startInProcess({
      database: `${address}?statement_timeout=1&retry_timeout=1`,
    });
    const target = { url: server.url, token: await server.createToken() };
    const other = await otherTransaction(address, "LOCK TABLE plants");
    let most = 0;
    const load = new Load();
    const running = load.untilStopped([target], 16);
    await threeRoundsTimeOut(load, async () => {
      most = Math.max(most, await backends(name));
    });
    expect([...load.statuses.keys()]).toEqual([503]);
    // pool_size, one for all else, and a command's.
    expect(most).toBeLessThanOrEqual(6);
    await other.end();
    await load.acknowledgedMore(200);
    load.stop();
    await running;
  });

  test("while no standby responds", async () => {
    await using own = await PostgresServer.start();
    await using server = await RunningServer.startInProcess({
      database: own.address("postgres", [], "?statement_timeout=1&retry_timeout=1"),
    });
    const target = { url: server.url, token: await server.createToken() };
    await own.query("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'missing'");
    await own.query("postgres", "SELECT pg_reload_conf()");
    const load = new Load();
    const running = load.untilStopped([target], 16);
    let most = 0;
    await threeRoundsTimeOut(load, async () => {
      const sql = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'plantstore'";
      most = Math.max(most, (await own.query("postgres", sql)).length);
    });
    // At most two pools, and backends that are ending.
    expect(most).toBeLessThanOrEqual(11);
    await own.query("postgres", "ALTER SYSTEM SET synchronous_standby_names = ''");
    await own.query("postgres", "SELECT pg_reload_conf()");
    await load.acknowledgedMore(200);
    load.stop();
    await running;
    expect(load.audit((await server.command("export")).stdout)).toEqual([]);
  });
});

test.each([
  ["inserted", "INSERT INTO plants VALUES (13, 'Ficus', NULL)"],
  ["deleted", "DELETE FROM plants WHERE id = 7"],
])(
  "of a batch with a row that another transaction has %s, that plant alone is unavailable",
  async (_, sql) => {
    const { address } = await database.newDatabase();
    await using store = await storeAt(address).open("create", () => undefined);
    expect(await store.create(toEntries([{ id: 7n, name: "Monstera" }]))).toEqual(["created"]);
    const other = await otherTransaction(address, sql);
    const locked = sql.startsWith("INSERT") ? 13n : 7n;
    for (const count of [100, 3_000]) {
      const first = BigInt(count) * 1_000n;
      const plants = Array.from({ length: count }, (_, index) => ({
        id: first + BigInt(index),
        name: "Monstera",
      }));
      plants.splice(count >> 1, 0, { id: locked, name: "Monstera" });
      const outcomes = await store.create(toEntries(plants));
      expect(outcomes.filter((outcome) => outcome === "unavailable")).toHaveLength(1);
      expect(outcomes[count >> 1]).toBe("unavailable");
    }
    await other.query("ROLLBACK");
    await other.end();
    expect(await store.create(toEntries([{ id: locked, name: "Monstera" }]))).toEqual([
      locked === 13n ? "created" : "unchanged",
    ]);
  },
);
