// PostgreSQL is stopped, killed, frozen, cut off or failed over: correct responses meanwhile, and recovery without a
// restart of the server.

import { expect, setDefaultTimeout, test } from "bun:test";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { freePort, PostgresServer } from "../../support/postgres.ts";
import { HangingProxy } from "../../support/proxy.ts";
import { plantstore, RunningServer, run } from "../../support/server.ts";

setDefaultTimeout(90_000);

const connections = 16;

interface Service extends AsyncDisposable {
  readonly load: Load;
  readonly server: RunningServer;
  readonly readyStatus: () => Promise<number>;
  readonly end: () => Promise<void>;
}

/** A server on a database, under load. */
async function serviceOn(database: string): Promise<Service> {
  const adminPort = await freePort();
  const server = await RunningServer.start({ database, args: ["--admin-port", String(adminPort)] });
  const load = new Load();
  const running = load.untilStopped([{ url: server.url, token: await server.createToken() }], connections);
  const end = async () => {
    load.stop();
    await running;
  };
  await load.acknowledgedMore(200);
  return {
    load,
    server,
    readyStatus: async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status,
    end,
    async [Symbol.asyncDispose]() {
      await end();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(50);
}

/** Only 200 and 503 were ever answered, and everything acknowledged is there. */
async function expectTruth({ load, server }: Service): Promise<void> {
  expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(load.audit((await server.command("export")).stdout)).toEqual([]);
}

test("the primary is killed and its synchronous standby promoted: writes go on there, and nothing acknowledged is lost", async () => {
  await using primary = await PostgresServer.start();
  await using standby = await PostgresServer.standbyOf(primary, "standby");
  await primary.query("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
  await primary.query("postgres", "SELECT pg_reload_conf()");
  await until(async () => {
    const [row] = await primary.query("postgres", "SELECT sync_state FROM pg_stat_replication");
    return row?.sync_state === "sync";
  });

  // The standby stands first in the address: it answers, and must not be taken for the primary.
  await using service = await serviceOn(standby.address("postgres", [primary], "?retry_timeout=20"));
  expect(await service.readyStatus()).toBe(200);
  await primary.stop("SIGKILL");
  await until(async () => (await service.readyStatus()) === 503);
  const before = service.load.acknowledged.size;
  await standby.query("postgres", "SELECT pg_promote()");
  await service.load.acknowledgedMore(200);
  await until(async () => (await service.readyStatus()) === 200);
  await service.end();
  expect(service.load.acknowledged.size).toBeGreaterThan(before);
  await expectTruth(service);
});

test("the database is stopped and started again: 503 past the deadline, then 200 again by itself", async () => {
  await using database = await PostgresServer.start();
  await using service = await serviceOn(
    database.address("postgres", [], "?retry_timeout=1&connect_timeout=1"),
  );
  await database.stop("SIGINT");
  await until(async () => (service.load.statuses.get(503) ?? 0) > 0);
  expect(await service.readyStatus()).toBe(503);
  await database.run();
  await service.load.acknowledgedMore(200);
  await until(async () => (await service.readyStatus()) === 200);
  await service.end();
  await expectTruth(service);
});

test("a crash that is over within the deadline is not noticed by any client", async () => {
  await using database = await PostgresServer.start();
  await using service = await serviceOn(database.address("postgres", [], "?retry_timeout=30"));
  for (let crash = 0; crash < 3; crash++) {
    await database.stop("SIGKILL");
    await database.run();
    await service.load.acknowledgedMore(200);
  }
  await service.end();
  expect([...service.load.statuses.keys()]).toEqual([200]);
  await expectTruth(service);
});

test("backends that are terminated under load cost no client anything", async () => {
  await using database = await PostgresServer.start();
  await using service = await serviceOn(database.address("postgres"));
  for (let round = 0; round < 10; round++) {
    await database.query(
      "postgres",
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plantstore'",
    );
    await service.load.acknowledgedMore(50);
  }
  await service.end();
  expect([...service.load.statuses.keys()]).toEqual([200]);
  await expectTruth(service);
});

test("the network to the database hangs: 503 and not for ever, readiness false, and recovery", async () => {
  await using database = await PostgresServer.start();
  using proxy = new HangingProxy(database.port);
  const address = `postgres://postgres@127.0.0.1:${proxy.port}/postgres?statement_timeout=1&connect_timeout=1&retry_timeout=1`;
  await using service = await serviceOn(address);
  proxy.hang();
  await until(async () => (service.load.statuses.get(503) ?? 0) > 0);
  expect(await service.readyStatus()).toBe(503);
  proxy.recover();
  await service.load.acknowledgedMore(200);
  await until(async () => (await service.readyStatus()) === 200);
  await service.end();
  await expectTruth(service);
});

test("a server stops within its time while the database is away", async () => {
  await using database = await PostgresServer.start();
  await using service = await serviceOn(
    database.address("postgres", [], "?retry_timeout=1&connect_timeout=1"),
  );
  await database.stop("SIGINT");
  await until(async () => (await service.readyStatus()) === 503);
  service.load.stop();
  expect((await service.server.stop()).exitCode).toBe(0);
});

test("a server stops within its time while the network to the database hangs", async () => {
  await using database = await PostgresServer.start();
  using proxy = new HangingProxy(database.port);
  const address = `postgres://postgres@127.0.0.1:${proxy.port}/postgres?statement_timeout=1&connect_timeout=1&retry_timeout=1`;
  await using service = await serviceOn(address);
  proxy.hang();
  await until(async () => (service.load.statuses.get(503) ?? 0) > 0);
  service.load.stop();
  expect((await service.server.stop()).exitCode).toBe(0);
});

test("a server stops within its time while the database's machine hangs, with its connections open", async () => {
  await using database = await PostgresServer.start();
  await using service = await serviceOn(
    database.address("postgres", [], "?statement_timeout=1&connect_timeout=1&retry_timeout=1"),
  );
  database.freeze();
  try {
    await until(async () => (service.load.statuses.get(503) ?? 0) > 0);
    service.load.stop();
    expect((await service.server.stop()).exitCode).toBe(0);
  } finally {
    database.thaw();
  }
});

test("a plant whose commit did not reach the synchronous standby is not acknowledged, not even to a replay", async () => {
  await using database = await PostgresServer.start();
  const address = database.address("postgres", [], "?statement_timeout=1&retry_timeout=1");
  await using server = await RunningServer.start({ database: address });
  const target = { url: server.url, token: await server.createToken() };
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  await database.query("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  await database.query("postgres", "SELECT pg_reload_conf()");

  // PostgreSQL takes a moment to notice its new configuration.
  let id = 2n;
  while ((await post(target, plantJson(id, "Ficus"))).status === 200) id++;
  // The wait for the standby is cut short: the row is committed here alone, and seen by all.
  await database.stop("SIGINT");
  await database.run();
  expect(await database.query("postgres", `SELECT name FROM plants WHERE id = ${id}`)).toEqual([
    { name: "Ficus" },
  ]);
  expect((await post(target, plantJson(id, "Ficus"))).status).toBe(503);

  await database.query("postgres", "ALTER SYSTEM SET synchronous_standby_names = ''");
  await database.query("postgres", "SELECT pg_reload_conf()");
  while ((await post(target, plantJson(id, "Ficus"))).status !== 200);
});

test("rows that the database rejects are inserted one by one, within one time-out for all", async () => {
  await using database = await PostgresServer.start();
  await using server = await RunningServer.start({
    database: database.address("postgres", [], "?retry_timeout=1"),
  });
  const target = { url: server.url, token: await server.createToken() };
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  await database.query("postgres", "ALTER TABLE plants ADD CONSTRAINT unlucky CHECK (id <> 13)");
  const answers = await Promise.all([1n, 12n, 13n, 14n].map((id) => post(target, plantJson(id, "Monstera"))));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 503, 200]);
});

test("a backend that is terminated under an export is an error in one line", async () => {
  await using database = await PostgresServer.start();
  await database.query("postgres", "SELECT 1");
  expect((await run(["migrate", "--database", database.address("postgres")])).exitCode).toBe(0);
  await database.query(
    "postgres",
    "INSERT INTO plants SELECT n, repeat('x', 2000) FROM generate_series(1, 20000) n",
  );
  const exporting = Bun.spawn([plantstore, "export", "--database", database.address("postgres")], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const reader = exporting.stdout.getReader();
  await reader.read();
  await database.query(
    "postgres",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plantstore'",
  );
  while (!(await reader.read()).done);
  expect(await exporting.stderr.text()).toMatch(
    /^plantstore: the database could not do it: [^\n]+; see to it, and try again\n$/,
  );
  expect(await exporting.exited).toBe(1);
});
