// Locks of other transactions on the table or on rows: which requests wait, for how long, and which
// continue.

import { afterAll, describe, expect, test } from "bun:test";
import { Client } from "pg";
import { storeAt } from "../../../src/core/store/open-store.ts";
import { toEntries } from "../../../src/core/store/plant-store.ts";
import { eventually } from "../../support/eventually.ts";
import { Load } from "../../support/load.ts";
import { PostgresServer, sharedPostgres } from "../../support/postgres.ts";
import { RunningServer } from "../../support/server.ts";

const database = await sharedPostgres();
afterAll(() => database[Symbol.asyncDispose]());

/** A transaction of another session, until it is rolled back. */
async function otherTransaction(address: string, sql: string): Promise<Client> {
  const other = new Client({ connectionString: address });
  await other.connect();
  await other.query(`BEGIN; ${sql}`);
  return other;
}

/**
 * Waits until the 16 clients of a load were refused three times. Returns the most connections that
 * servers had meanwhile, which it counts over one of its own: a busy machine takes long for a new
 * one.
 */
async function connectionsWhileRefused(load: Load, address: string): Promise<number> {
  const watch = new Client({ connectionString: address });
  await watch.connect();
  let most = 0;
  try {
    await eventually(
      "48 creates are answered with 503",
      async () => {
        const { rows } = await watch.query(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plantstore'",
        );
        most = Math.max(most, rows.length);
        return load.statuses.get(503) ?? 0;
      },
      (answers) => answers >= 48,
    );
  } finally {
    await watch.end();
  }
  return most;
}

// Each waits for several time-outs.
describe.concurrent("statements that wait are bounded, and afterwards plants are created", () => {
  test("while the table is locked", async () => {
    const { address } = await database.newDatabase();
    await using server = await RunningServer.startInProcess({
      database: `${address}?statement_timeout=1&retry_timeout=1`,
    });
    const target = await server.target();
    const other = await otherTransaction(address, "LOCK TABLE plants");
    const load = new Load();
    load.start([target], 16);
    // pool_size, one for all else, and a command's.
    expect(await connectionsWhileRefused(load, address)).toBeLessThanOrEqual(6);
    expect([...load.statuses.keys()]).toEqual([503]);
    await other.end();
    await load.acknowledgedMore(200);
    await load.stop();
  });

  test("while no standby responds", async () => {
    await using own = await PostgresServer.start();
    const address = own.address("postgres");
    await using server = await RunningServer.startInProcess({
      database: `${address}?statement_timeout=1&retry_timeout=1`,
    });
    const target = await server.target();
    await own.alterSystem("SET synchronous_standby_names = 'missing'");
    const load = new Load();
    load.start([target], 16);
    // At most two pools, and backends that are ending.
    expect(await connectionsWhileRefused(load, address)).toBeLessThanOrEqual(11);
    await own.alterSystem("RESET synchronous_standby_names");
    await load.acknowledgedMore(200);
    await load.stop();
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
