// Locks of other transactions, and commits that wait for a standby: both are bounded. A migration
// waits for a reader without creates behind it.

import { afterAll, describe, expect, test } from "bun:test";
import { Client } from "pg";
import { compiler } from "../../../src/openapi/compiler.ts";
import { storeAt } from "../../../src/store/open-store.ts";
import { onlyCollection, plantStore } from "../../support/contracts.ts";
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

test("creates go on while a migration waits for a reader, and it names the reader", async () => {
  const { address } = await database.newDatabase();
  await using server = await RunningServer.startInProcess({ database: `${address}?retry_timeout=1` });
  const target = await server.target();
  const wider = plantStore.source.text.replace('"tag":{', '"note":{"type":"string"},"tag":{');
  const reader = await otherTransaction(address, "SET application_name = 'pg_dump'; SELECT FROM plants");
  const load = new Load();
  load.start([target], 16, 5);
  const waiting = Promise.withResolvers<string>();
  const migrating = storeAt(address).open("create", () => undefined, {
    compiler,
    contract: { text: wider },
    report: waiting.resolve,
  });
  migrating.catch(waiting.reject);
  expect(await waiting.promise).toMatch(/^a lock that process \d+ \(pg_dump\) holds$/);
  await load.acknowledgedMore(2_000);
  await reader.end();
  await using store = await migrating;
  expect(onlyCollection(store.contract).fields.map(({ name }) => name)).toContain("note");
  await load.acknowledgedMore(100);
  await load.stop();
  // Creates that met the change of the contract are answered with 503, and no others.
  const { 200: created = 0, ...others } = Object.fromEntries(load.statuses);
  expect(created).toBeGreaterThan(2_000);
  expect(Object.keys(others).filter((status) => status !== "503")).toEqual([]);
  expect(others[503] ?? 0).toBeLessThan(200);
});
