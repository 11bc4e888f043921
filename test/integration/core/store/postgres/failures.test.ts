// The classification of errors, with errors that a real client and a real server produce.

import { afterAll, expect, test } from "bun:test";
import { Client, Pool, type PoolConfig } from "pg";
import { classifyError } from "../../../../../src/core/store/postgres/errors.ts";
import { reservePort } from "../../../../support/ports.ts";
import { sharedPostgres } from "../../../../support/postgres.ts";
import { startHangingProxy } from "../../../../support/proxy.ts";

const database = await sharedPostgres();
afterAll(() => database[Symbol.asyncDispose]());

const config = (port: number): PoolConfig => ({
  host: "127.0.0.1",
  port,
  user: "postgres",
  database: "postgres",
});

/** The failure that a promise rejects with. */
function rejectionFailure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "none",
    (error) => classifyError(error),
  );
}

async function sqlFailure(sql: string, query_timeout?: number): Promise<string> {
  const client = new Client({ ...config(database.port), query_timeout });
  client.on("error", () => undefined);
  await client.connect();
  const failure = await rejectionFailure(client.query(sql));
  await client.end();
  return failure;
}

test.each([
  ["connectionLost", "SELECT pg_terminate_backend(pg_backend_pid())"],
  ["connectionLost", "DO $$ BEGIN RAISE SQLSTATE '57P03'; END $$"],
  ["connectionLost", "SET transaction_read_only = on; CREATE TABLE x ()"],
  ["retryable", "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"],
  ["retryable", "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$"],
  ["rowError", "SELECT 1 / 0"],
  ["rejected", "SELECT * FROM nowhere"],
  ["rejected", "DO $$ BEGIN RAISE SQLSTATE '53100'; END $$"],
])("%s: %s", async (failure, sql) => {
  expect(await sqlFailure(sql)).toBe(failure);
});

test("a statement that takes too long is connectionLost", async () => {
  expect(await sqlFailure("SELECT pg_sleep(3600)", 100)).toBe("connectionLost");
});

test("a query on a pool that was ended is connectionLost, not an internal error", async () => {
  const pool = new Pool(config(database.port));
  await pool.end();
  expect(await rejectionFailure(pool.query("SELECT 1"))).toBe("connectionLost");
  expect(await rejectionFailure(pool.connect())).toBe("connectionLost");
});

test("a refused connection, a hanging host and an unknown host name are connectionLost", async () => {
  const closed = new Pool(config(reservePort()));
  expect(await rejectionFailure(closed.query("SELECT 1"))).toBe("connectionLost");
  using proxy = await startHangingProxy(database.port);
  proxy.hang();
  const hanging = new Pool({ ...config(proxy.port), connectionTimeoutMillis: 300 });
  expect(await rejectionFailure(hanging.query("SELECT 1"))).toBe("connectionLost");
  const unknown = new Pool({ ...config(1), host: "no-such-host.invalid" });
  expect(await rejectionFailure(unknown.query("SELECT 1"))).toBe("connectionLost");
});

test("an error of the program itself is an internal error", () => {
  expect(classifyError(new TypeError("undefined is not a function"))).toBe("internalError");
  expect(classifyError("a string")).toBe("internalError");
});
