// The database fails and recovers, on the same host or another: responses are correct meanwhile,
// and the server recovers without a restart.

import { describe, expect, test } from "bun:test";
import { eventually } from "../../support/eventually.ts";
import { Load } from "../../support/load.ts";
import { PostgresServer, sharedPostgres } from "../../support/postgres.ts";
import { startHangingProxy } from "../../support/proxy.ts";
import { RunningServer } from "../../support/server.ts";

const connections = 8;

/** Pause of the load between creates, which leaves the processors to the tests. */
const pauseMs = 5;

/** The shortest limits that an address can have: a test waits for them to pass. */
const shortLimits = "?statement_timeout=1&connect_timeout=1&retry_timeout=1";

type Service = Awaited<ReturnType<typeof serviceOn>>;

/** A server on a database, under load. */
async function serviceOn(database: string) {
  const server = await RunningServer.startInProcess({ database });
  const adminUrl = await server.adminUrl();
  const target = await server.target();
  const load = new Load();
  load.start([target], connections, pauseMs);
  await load.acknowledgedMore(200);
  return {
    load,
    server,
    target,
    readyStatus: async () => (await fetch(`${adminUrl}/readyz`)).status,
    async [Symbol.asyncDispose]() {
      await load.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

/**
 * A server under load on a cluster of its own with short limits, which it reaches directly or
 * through a proxy.
 */
async function serviceOnCluster(route: "direct" | "proxy") {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await PostgresServer.start());
  const network = stack.use(await startHangingProxy(database.port));
  const { port } = route === "direct" ? database : network;
  const service = stack.use(await serviceOn(`postgres://postgres@127.0.0.1:${port}/postgres${shortLimits}`));
  return { ...service, database, network, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function readyStatusIs(service: Service, status: number): Promise<void> {
  await eventually(
    `the server's readiness is ${status}`,
    () => service.readyStatus(),
    (found) => found === status,
  );
}

/** Waits for a client to be told that the database is unavailable. */
async function unavailable({ load }: Service): Promise<void> {
  await eventually(
    "a create is answered with 503",
    () => load.statuses.get(503) ?? 0,
    (answers) => answers > 0,
  );
}

/**
 * The server creates plants again and is ready; every response was 200 or 503, and every
 * acknowledged plant is stored.
 */
async function expectRecovery(service: Service): Promise<void> {
  await service.load.acknowledgedMore(200);
  await readyStatusIs(service, 200);
  await service.load.stop();
  await expectNothingLost(service);
}

async function expectNothingLost({ load, server }: Service): Promise<void> {
  expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(load.audit((await server.command("export")).stdout)).toEqual([]);
}

test("the primary is killed and its synchronous standby promoted: writes continue there, and no acknowledged plant is lost", async () => {
  await using primary = await PostgresServer.start();
  await using standby = await PostgresServer.standbyOf(primary, "standby");
  await primary.alterSystem("SET synchronous_standby_names = 'standby'");
  await eventually("the standby is synchronous", async () => {
    const [row] = await primary.query("postgres", "SELECT sync_state FROM pg_stat_replication");
    return row?.sync_state === "sync";
  });

  // The standby comes first in the URL: it responds, and must not be mistaken for the primary.
  await using service = await serviceOn(standby.address("postgres", [primary], "?retry_timeout=20"));
  expect(await service.readyStatus()).toBe(200);
  await primary.stop("SIGKILL");
  await readyStatusIs(service, 503);
  const before = service.load.acknowledged.size;
  await standby.query("postgres", "SELECT pg_promote()");
  await expectRecovery(service);
  expect(service.load.acknowledged.size).toBeGreaterThan(before);
});

test("a crash that is over within retry_timeout causes no error for any client", async () => {
  await using database = await PostgresServer.start();
  await using service = await serviceOn(database.address("postgres", [], "?retry_timeout=30"));
  for (let crash = 0; crash < 2; crash++) {
    await database.stop("SIGKILL");
    service.load.start([service.target], 1, pauseMs);
    await database.run();
    await service.load.acknowledgedMore(200);
  }
  await service.load.stop();
  expect([...service.load.statuses.keys()]).toEqual([200]);
  await expectNothingLost(service);
});

// Most of their time is waits for limits, so they run concurrently.
describe.concurrent("the database does not respond", () => {
  test("it is stopped and restarted: 503 past retry_timeout, then 200 again without a restart", async () => {
    await using service = await serviceOnCluster("direct");
    await service.database.stop("SIGINT");
    await unavailable(service);
    expect(await service.readyStatus()).toBe(503);
    await service.database.run();
    await expectRecovery(service);
  });

  test("the network to it hangs: 503 within the time limits, not ready, and recovery", async () => {
    await using service = await serviceOnCluster("proxy");
    service.network.hang();
    await unavailable(service);
    expect(await service.readyStatus()).toBe(503);
    service.network.recover();
    await expectRecovery(service);
  });

  test("a server stops within its time limit while the network to it hangs", async () => {
    await using service = await serviceOnCluster("proxy");
    service.network.hang();
    await unavailable(service);
    // Its requests hang, too.
    void service.load.stop();
    expect((await service.server.stop()).exitCode).toBe(0);
  });
});

test("backends that are terminated under load cause no error for any client", async () => {
  await using postgres = await sharedPostgres();
  const { name, address } = await postgres.newDatabase();
  await using service = await serviceOn(address);
  for (let round = 0; round < 10; round++) {
    await postgres.query(
      "postgres",
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'plantstore' AND datname = '${name}'`,
    );
    await service.load.acknowledgedMore(50);
  }
  await service.load.stop();
  expect([...service.load.statuses.keys()]).toEqual([200]);
  await expectNothingLost(service);
});
