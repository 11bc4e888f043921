// The queues of Citus' nodes, on PostgreSQL servers without Citus that have its catalogs: each has
// the plants of its own shards, and none routes. test/system/citus has what only Citus itself
// shows.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { CitusNode } from "../../../../../src/core/store/postgres/citus/node.ts";
import { metadataSql, ShardMap } from "../../../../../src/core/store/postgres/citus/shard-map.ts";
import { parsePostgresUrl } from "../../../../../src/core/store/postgres/connection-url.ts";
import { imitatedCatalogs, openQueuedStore } from "../../../../support/citus.ts";
import { eventually } from "../../../../support/eventually.ts";
import { PostgresServer } from "../../../../support/postgres.ts";
import { createStore } from "../../../../support/server.ts";

const shards = 8;

/** Citus' catalogs in a cluster whose workers have the shards in turn. */
function catalogs(group: number, workers: readonly PostgresServer[]): string {
  const width = 2 ** 32 / shards;
  return `
    ${imitatedCatalogs(group)};
    ${workers.map(({ port }, index) => `INSERT INTO pg_dist_node VALUES (${index + 1}, '127.0.0.1', ${port}, 'primary', true, true, true);`).join("\n")}
    INSERT INTO pg_dist_partition VALUES ('plants', 'h', 'id');
    CREATE TABLE pg_dist_shard AS
      SELECT 'plants'::regclass AS logicalrelid, 102000 + n AS shardid,
             (-2147483648 + n * ${width})::bigint::text AS shardminvalue, (-2147483648 + (n + 1) * ${width} - 1)::bigint::text AS shardmaxvalue
      FROM generate_series(0::bigint, ${shards - 1}) AS n;
    CREATE TABLE pg_dist_placement AS SELECT shardid, 1 AS shardstate, (1 + shardid % ${workers.length})::int AS groupid FROM pg_dist_shard;
    CREATE FUNCTION get_shard_id_for_distribution_column(regclass, bigint) RETURNS bigint LANGUAGE sql AS
      'SELECT shardid FROM pg_dist_shard WHERE hashint8($2) BETWEEN shardminvalue::bigint AND shardmaxvalue::bigint'`;
}

let coordinator: PostgresServer;
let workers: readonly [PostgresServer, PostgresServer];
beforeAll(async () => {
  const servers = await Promise.all([PostgresServer.start(), PostgresServer.start(), PostgresServer.start()]);
  for (const server of servers) await createStore(server.address("postgres"));
  const [first, ...rest] = servers;
  coordinator = first;
  workers = rest;
  for (const [group, server] of servers.entries()) await server.query("postgres", catalogs(group, workers));
});
afterAll(() => Promise.all([coordinator, ...workers].map((server) => server[Symbol.asyncDispose]())));

const nodeName = ({ port }: PostgresServer) => `127.0.0.1:${port}`;

const openStore = () =>
  openQueuedStore(
    coordinator.address("postgres", [], "?retry_timeout=60&connect_timeout=1"),
    "writable",
    1_000,
  );

const idsFrom = (first: bigint) => Array.from({ length: 100 }, (_, index) => first + BigInt(index));

async function storedIds(server: PostgresServer): Promise<bigint[]> {
  const rows = await server.query("postgres", "SELECT id::text AS id FROM plants");
  return rows.map(({ id }) => BigInt(String(id)));
}

/** The ids whose shard a worker has. */
async function idsOf(worker: PostgresServer, ids: readonly bigint[]): Promise<bigint[]> {
  const rows = await coordinator.query(
    "postgres",
    `SELECT id::text AS id FROM unnest('{${ids.join(",")}}'::bigint[]) AS id
     JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('plants', id)
     JOIN pg_dist_node USING (groupid) WHERE nodeport = ${worker.port}`,
  );
  return rows.map(({ id }) => BigInt(String(id)));
}

test("a plant is committed on the node that has its shard, and outcomes are those of one server", async () => {
  await using service = await openStore();
  expect(service.nodes()).toEqual({ [nodeName(workers[0])]: true, [nodeName(workers[1])]: true });
  const ids = [...idsFrom(-50n), 2n ** 63n - 1n, -(2n ** 63n)];
  expect(await service.createAll(ids)).toEqual(["created"]);
  expect(await storedIds(coordinator)).toEqual([]);
  for (const worker of workers) {
    const own = await idsOf(worker, ids);
    expect(own.length).toBeGreaterThan(10);
    expect(new Set(await storedIds(worker))).toEqual(new Set(own));
  }
  expect(await service.createAll(ids)).toEqual(["unchanged"]);
  expect(await service.createAll(ids, "Moss")).toEqual(["conflict"]);
  expect(await service.queue.assertReady()).toEqual([]);
  expect(service.reports).toEqual([]);
});

test("a node that is killed costs only its own plants, at once, and they come back", async () => {
  await using service = await openStore();
  const [worker, other] = workers;
  const ids = idsFrom(10_000n);
  const [lost, kept] = [await idsOf(worker, ids), await idsOf(other, ids)];
  await worker.stop("SIGKILL");
  try {
    const waiting = service.createAll(lost);
    expect(await service.createAll(kept)).toEqual(["created"]);
    // Those in flight and those in the queue, before retry_timeout has passed.
    const startedAt = performance.now();
    expect(await waiting).toEqual(["unavailable"]);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(service.nodes()).toEqual({ [nodeName(worker)]: false, [nodeName(other)]: true });
    const refusedAt = performance.now();
    expect(await service.createAll(lost)).toEqual(["unavailable"]);
    expect(performance.now() - refusedAt).toBeLessThan(30_000);
    expect(service.queue.isFullFor("one")).toBe(false);
    expect(await service.queue.assertReady()).toEqual([
      expect.stringMatching(new RegExp(`^${nodeName(worker)} cannot commit: .`)),
    ]);
    expect(await service.createAll(kept)).toEqual(["unchanged"]);
  } finally {
    await worker.run();
  }
  await eventually(
    "the node is up",
    () => service.nodes()[nodeName(worker)],
    (isUp) => isUp === true,
  );
  for (const outcome of await service.createAll(lost)) expect(["created", "unchanged"]).toContain(outcome);
  expect(await service.queue.assertReady()).toEqual([]);
  expect(service.reports).toEqual([]);
});

test("a node that is retired while it is probed is not used directly", async () => {
  const [row] = await coordinator.query("postgres", metadataSql);
  const map = ShardMap.parse(JSON.parse(String(row?.metadata)));
  const dependencies = {
    url: parsePostgresUrl(coordinator.address("postgres").replace("postgres:", "")),
    onUnavailable: () => undefined,
    onRouteChanged: () => undefined,
    onOutdated: () => undefined,
  };
  const nodes = map.nodes.map((node) => new CitusNode(node, map, dependencies));
  const checks = nodes.map((node) => node.check());
  nodes[0]?.retire();
  await Promise.all(checks);
  expect(nodes.map(({ isDirect }) => isDirect)).toEqual([false, true]);
  await Promise.all(nodes.map((node) => node.close()));
});

test("creates go on without the coordinator, and by it while the map cannot be used", async () => {
  await using service = await openStore();
  await coordinator.stop("SIGKILL");
  try {
    expect(await service.createAll(idsFrom(20_000n))).toEqual(["created"]);
  } finally {
    await coordinator.run();
  }
  const onEach = (sql: string) =>
    Promise.all([coordinator, ...workers].map((server) => server.query("postgres", sql)));
  await onEach("UPDATE pg_dist_partition SET partkey = 'name'");
  await eventually(
    "the queue of the coordinator",
    () => Object.keys(service.nodes()),
    (names) => names.length === 1,
  );
  expect(service.nodes()).toEqual({ coordinator: true });
  expect(await service.createAll([30_000n])).toEqual(["created"]);
  expect(await storedIds(coordinator)).toEqual([30_000n]);
  expect(service.reports).toEqual([expect.stringContaining("distributed by name")]);
  await onEach("UPDATE pg_dist_partition SET partkey = 'id'");
  await eventually(
    "the queues of the nodes",
    () => Object.keys(service.nodes()),
    (names) => names.length === 2,
  );
  expect(await service.createAll([30_001n])).toEqual(["created"]);
});

test("a shard that was moved, and whose former placement is still to be deleted, is committed where it is now", async () => {
  const [from, to] = workers;
  // As Citus 11.0 leaves it.
  await coordinator.query(
    "postgres",
    `UPDATE pg_dist_placement SET shardstate = 4 WHERE shardid = 102000 AND groupid = 1;
     INSERT INTO pg_dist_placement VALUES (102000, 1, 2)`,
  );
  await using service = await openStore();
  expect(Object.keys(service.nodes()).toSorted()).toEqual([from, to].map(nodeName).toSorted());
  const ids = idsFrom(40_000n);
  expect(await service.createAll(ids)).toEqual(["created"]);
  const moved = await coordinator.query(
    "postgres",
    `SELECT id::text AS id FROM unnest('{${ids.join(",")}}'::bigint[]) AS id
     WHERE get_shard_id_for_distribution_column('plants', id) = 102000`,
  );
  expect(moved.length).toBeGreaterThan(2);
  const stored = new Set(await storedIds(to));
  expect(moved.every(({ id }) => stored.has(BigInt(String(id))))).toBe(true);
  expect(service.reports).toEqual([]);
});
