// The database goes away and comes back, here or elsewhere: the right answers meanwhile, and recovery without a
// restart of the service.

import { expect, test } from "bun:test";
import { Load } from "../harness/load.ts";
import { freePort, PostgresServer } from "../harness/postgres.ts";
import { HangingProxy } from "../harness/proxy.ts";
import { RunningServer } from "../harness/server.ts";

const testMsMax = 90_000;
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

test(
  "the primary is killed and its synchronous standby promoted: writes go on there, and nothing acknowledged is lost",
  async () => {
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
  },
  testMsMax,
);

test(
  "the database is stopped and started again: 503 past the deadline, then 200 again by itself",
  async () => {
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
  },
  testMsMax,
);

test(
  "a crash that is over within the deadline is not noticed by any client",
  async () => {
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
  },
  testMsMax,
);

test(
  "backends that are terminated under load cost no client anything",
  async () => {
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
  },
  testMsMax,
);

test(
  "the network to the database hangs: 503 and not for ever, readiness false, and recovery",
  async () => {
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
  },
  testMsMax,
);

test(
  "a server stops within its time while the database is away",
  async () => {
    await using database = await PostgresServer.start();
    await using service = await serviceOn(
      database.address("postgres", [], "?retry_timeout=1&connect_timeout=1"),
    );
    await database.stop("SIGINT");
    await until(async () => (await service.readyStatus()) === 503);
    service.load.stop();
    expect((await service.server.stop()).exitCode).toBe(0);
  },
  testMsMax,
);

test(
  "a server stops within its time while the network to the database hangs",
  async () => {
    await using database = await PostgresServer.start();
    using proxy = new HangingProxy(database.port);
    const address = `postgres://postgres@127.0.0.1:${proxy.port}/postgres?statement_timeout=1&connect_timeout=1&retry_timeout=1`;
    await using service = await serviceOn(address);
    proxy.hang();
    await until(async () => (service.load.statuses.get(503) ?? 0) > 0);
    service.load.stop();
    expect((await service.server.stop()).exitCode).toBe(0);
  },
  testMsMax,
);
