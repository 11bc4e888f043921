// What failures mean, with failures that the client and the server really produce.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Client, Pool, type PoolConfig } from "pg";
import { failureOf } from "../../../../src/store/postgres/error-classes.ts";
import { freePort, type PostgresDatabases, sharedPostgres } from "../../../support/postgres.ts";
import { HangingProxy } from "../../../support/proxy.ts";

let database: PostgresDatabases;
beforeAll(async () => {
  database = await sharedPostgres();
});
afterAll(() => database[Symbol.asyncDispose]());

const config = (port: number): PoolConfig => ({
  host: "127.0.0.1",
  port,
  user: "postgres",
  database: "postgres",
  connectionTimeoutMillis: 300,
  query_timeout: 300,
});

/** The failure that a promise rejects with. */
function failureIn(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "none",
    (error) => failureOf(error),
  );
}

async function failureOfSql(sql: string): Promise<string> {
  const client = new Client(config(database.port));
  client.on("error", () => undefined);
  await client.connect();
  const failure = await failureIn(client.query(sql));
  await client.end();
  return failure;
}

test.each([
  ["lost", "SELECT pg_terminate_backend(pg_backend_pid())"],
  ["lost", "DO $$ BEGIN RAISE SQLSTATE '57P03'; END $$"],
  ["lost", "SET transaction_read_only = on; CREATE TABLE x ()"],
  ["lost", "SELECT pg_sleep(1)"],
  ["again", "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"],
  ["again", "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$"],
  ["alone", "SELECT 1 / 0"],
  ["refused", "SELECT * FROM nowhere"],
  ["refused", "DO $$ BEGIN RAISE SQLSTATE '53100'; END $$"],
])("%s: %s", async (failure, sql) => {
  expect(await failureOfSql(sql)).toBe(failure);
});

test("a pool that another batch has given up is lost, not a fault", async () => {
  const pool = new Pool(config(database.port));
  await pool.end();
  expect(await failureIn(pool.query("SELECT 1"))).toBe("lost");
  expect(await failureIn(pool.connect())).toBe("lost");
});

test("no one listens, nobody answers, and names that are none are lost", async () => {
  const refused = new Pool(config(await freePort()));
  expect(await failureIn(refused.query("SELECT 1"))).toBe("lost");
  using proxy = new HangingProxy(database.port);
  proxy.hang();
  const hanging = new Pool(config(proxy.port));
  expect(await failureIn(hanging.query("SELECT 1"))).toBe("lost");
  const nameless = new Pool({ ...config(1), host: "no-such-host.invalid" });
  expect(await failureIn(nameless.query("SELECT 1"))).toBe("lost");
});

test("a mistake of the program is a fault", () => {
  expect(failureOf(new TypeError("undefined is not a function"))).toBe("fault");
  expect(failureOf("a string")).toBe("fault");
});
