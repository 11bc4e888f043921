// The classification of errors, with errors that a real client and a real server produce.

import { afterAll, expect, test } from "bun:test";
import { type HostConfig, parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";
import { classifyError } from "../../../../src/store/postgres/errors.ts";
import { HostPool } from "../../../../src/store/postgres/host-pool.ts";
import { Primary } from "../../../../src/store/postgres/primary.ts";
import { reservePort } from "../../../support/ports.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { startHangingProxy } from "../../../support/proxy.ts";

const database = await sharedPostgres();
afterAll(() => database[Symbol.asyncDispose]());

function connect(
  port: number,
  { host = "127.0.0.1", statementMs = 60_000, connectMs = 60_000, isPipelined = false } = {},
): HostPool {
  const [config] = parsePostgresUrl(`//postgres@${host}:${port}/postgres`).hosts;
  const limits = { connectionsMax: 0, statementMsMax: statementMs, copyRowsMin: 1, isPipelined };
  return new HostPool({ ...(config as HostConfig), connectionTimeoutMillis: connectMs }, limits);
}

/** The failure of a statement on a new connection. */
async function failureOf(sql: string, pool = connect(database.port)): Promise<string> {
  const failure = await pool.query(sql).then(() => "none", classifyError);
  await pool.close();
  return failure;
}

test.each([
  ["connectionLost", "SELECT pg_terminate_backend(pg_backend_pid())"],
  ["connectionLost", "DO $$ BEGIN RAISE SQLSTATE '57P03'; END $$"],
  ["connectionLost", "DO $$ BEGIN RAISE SQLSTATE '25P03'; END $$"],
  ["connectionLost", "DO $$ BEGIN RAISE SQLSTATE '25P04'; END $$"],
  ["connectionLost", "SET transaction_read_only = on; CREATE TABLE x ()"],
  ["retryable", "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"],
  ["retryable", "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$"],
  ["retryable", "SET LOCAL statement_timeout = 1; SELECT pg_sleep(3600)"],
  ["rejected", "SELECT * FROM nowhere"],
  ["rejected", "DO $$ BEGIN RAISE SQLSTATE '53100'; END $$"],
])("%s: %s", async (failure, sql) => {
  expect(await failureOf(sql)).toBe(failure);
});

test("a transaction whose last statement fails changes nothing, and its connection goes on", async () => {
  const pool = connect(database.port, { isPipelined: true });
  const name = `last_${crypto.randomUUID().slice(0, 8)}`;
  await pool.query(`CREATE TABLE ${name} (n int PRIMARY KEY)`);
  const insert = (n: number) => ({ text: `INSERT INTO ${name} VALUES ($1)`, values: [n] });
  const run = (...last: number[]) =>
    pool.transactionEndingWith(async (connection) => {
      await connection.together([insert(1)]);
      return { result: "done", last: last.map(insert) };
    });
  expect(await run(2, 1).catch(classifyError)).toBe("rejected");
  expect((await pool.query(`TABLE ${name}`)).rows).toEqual([]);
  expect(await run(2)).toBe("done");
  expect((await pool.query(`TABLE ${name}`)).rows).toHaveLength(2);
  await pool.query(`DROP TABLE ${name}`);
  await pool.close();
});

test("after a statement that fails in a transaction its connection goes on", async () => {
  const pool = connect(database.port);
  const pid = async () => (await pool.query("SELECT pg_backend_pid() AS pid")).rows;
  const before = await pid();
  expect(await pool.transaction((own) => own.query("SELECT 1 / 0")).catch(classifyError)).toBe("rejected");
  expect(await pid()).toEqual(before);
  await pool.close();
});

test("a statement that a hanging host does not answer is connectionLost", async () => {
  using proxy = await startHangingProxy(database.port);
  const pool = connect(proxy.port, { statementMs: 200 });
  await pool.check();
  proxy.hang();
  expect(await failureOf("SELECT 1", pool)).toBe("connectionLost");
});

test("after one idle connection was found dead, the others are not tried", async () => {
  using proxy = await startHangingProxy(database.port);
  const pool = connect(proxy.port, { connectMs: 1_000 });
  await Promise.all([1, 2].map(() => pool.query("SELECT pg_sleep(0.1)")));
  proxy.hang();
  expect(await pool.check().catch(classifyError)).toBe("connectionLost");
  proxy.replace();
  await pool.check();
  await pool.close();
});

test("after a host that hangs another one is found", async () => {
  using one = await startHangingProxy(database.port);
  using other = await startHangingProxy(database.port);
  const hosts = [one, other].map(({ port }) => `127.0.0.1:${port}`).join();
  const primary = new Primary(
    parsePostgresUrl(`//postgres@${hosts}/postgres?statement_timeout=1&connect_timeout=1`),
  );
  const ask = () => primary.once((pool) => pool.query("SELECT 1")).then(() => "answered", classifyError);
  other.hang();
  expect(await ask()).toBe("answered");
  one.hang();
  other.replace();
  expect(await ask()).toBe("connectionLost");
  expect(await ask()).toBe("answered");
  await primary.close();
});

test("a statement on a pool that was closed is connectionLost, not an internal error", async () => {
  const pool = connect(database.port);
  await pool.close();
  expect(await pool.query("SELECT 1").catch(classifyError)).toBe("connectionLost");
});

test("a pool whose connections are all busy is retryable", async () => {
  const pool = connect(database.port, { connectMs: 300 });
  const sleep = `SELECT pg_sleep(3600) AS "${crypto.randomUUID()}"`;
  const busy = [1, 2].map(() => pool.query(sleep).catch(classifyError));
  expect(await pool.query("SELECT 1").catch(classifyError)).toBe("retryable");
  await database.query(
    "postgres",
    `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = '${sleep}'`,
  );
  expect(await Promise.all(busy)).toEqual(["retryable", "retryable"]);
  await pool.close();
});

test("a refused connection, a hanging host and an unknown host name are connectionLost", async () => {
  expect(await failureOf("SELECT 1", connect(reservePort()))).toBe("connectionLost");
  using proxy = await startHangingProxy(database.port);
  proxy.hang();
  expect(await failureOf("SELECT 1", connect(proxy.port, { connectMs: 300 }))).toBe("connectionLost");
  const unknown = connect(1, { host: "no-such-host.invalid" });
  expect(await failureOf("SELECT 1", unknown)).toBe("connectionLost");
});

test("an error of the program itself is an internal error", () => {
  expect(classifyError(new TypeError("undefined is not a function"))).toBe("internalError");
  expect(classifyError("a string")).toBe("internalError");
});
