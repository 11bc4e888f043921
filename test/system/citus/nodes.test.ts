// A real cluster: batches go straight to the workers, one worker down is one worker down, and
// creates go on while the coordinator is down, and while shards and nodes change.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { CitusNode } from "../../../src/store/citus/node.ts";
import { readShardMaps, type ShardMap } from "../../../src/store/citus/shard-map.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { commitBatch } from "../../../src/store/postgres/batch.ts";
import { parsePostgresUrl } from "../../../src/store/postgres/connection-url.ts";
import { classifyError } from "../../../src/store/postgres/errors.ts";
import type { Queries } from "../../../src/store/postgres/host-pool.ts";
import { Primary } from "../../../src/store/postgres/primary.ts";
import { CitusCluster, describeCitus } from "../../support/citus.ts";
import { plant, plantStore } from "../../support/contracts.ts";
import { eventually } from "../../support/eventually.ts";
import { Load } from "../../support/load.ts";
import type { PostgresServer } from "../../support/postgres.ts";
import { createStore, RunningServer, runCommand } from "../../support/server.ts";
import { exported } from "../../support/stored-plants.ts";

describeCitus("Citus nodes", () => {
  let cluster: CitusCluster;
  beforeAll(async () => {
    cluster = await CitusCluster.start();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const fail = () => Promise.reject(new Error("nothing is sent to the coordinator"));

  const nodeName = ({ port }: { port: number }) => `127.0.0.1:${port}`;

  /** A store of its own with distributed plants. */
  async function newStore() {
    const { name, address } = await cluster.newDatabase();
    await createStore(address);
    await cluster.distribute(name);
    const query = (sql: string) => cluster.coordinator.query(name, sql);
    const queries = { query: async (sql: string) => ({ rows: await query(sql) }) } as Queries;
    const readMap = async () => {
      const map = (await readShardMaps(queries)).get(plantStore.table);
      if (map === undefined) throw new Error("the plants are not distributed");
      return map;
    };
    return { name, address, query, readMap };
  }

  /** A server under load. */
  async function startLoad(database: string) {
    const server = await RunningServer.startInProcess({ database });
    const target = await server.target();
    const adminUrl = await server.adminUrl();
    const load = new Load();
    load.start([target], 64, 5);
    return {
      server,
      load,
      /** Whether each node commits, by name. */
      async nodesUp(): Promise<Map<string, boolean>> {
        const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
        const samples = metrics.matchAll(/^plantstore_node_up\{node="(.*)"\} ([01])$/gm);
        return new Map(samples.map(([, node = "", up]) => [node, up === "1"]));
      },
      /** Resolves when `count` more plants of a node are acknowledged. */
      async acknowledgedMore(count: number, map: ShardMap, node: string): Promise<void> {
        const ofNode = () => [...load.acknowledged].filter((id) => map.nodeOf(id) === node).length;
        const wanted = ofNode() + count;
        await eventually(`${wanted} plants of ${node} are acknowledged`, ofNode, (ids) => ids >= wanted);
      },
      async [Symbol.asyncDispose]() {
        await load.stop();
        await server[Symbol.asyncDispose]();
      },
    };
  }

  const nodesAre = (service: Awaited<ReturnType<typeof startLoad>>, names: readonly string[]) =>
    eventually(
      `the nodes are ${names}`,
      async () => [...(await service.nodesUp()).keys()].sort().join(),
      (found) => found === [...names].sort().join(),
    );

  test("batches of the same ids, by COPY and by INSERT, do not deadlock", async () => {
    const { name, readMap } = await newStore();
    const [worker] = cluster.workers;
    const map = await readMap();
    const url = parsePostgresUrl(worker.address(name).replace(/^postgres:/, ""));
    const [copying, inserting] = [new Primary({ ...url, copyRowsMin: 4 }), new Primary(url)];
    try {
      for (let round = 0; round < 20; round++) {
        const ids = Array.from({ length: 400 }, (_, id) => BigInt(round * 400 + id));
        const ofWorker = ids.filter((id) => map.nodeOf(id) === nodeName(worker));
        const batch = toEntries(
          plantStore,
          ofWorker.map((id) => plant({ id, name: "Fern" })),
        );
        const outcomes = await Promise.all([
          copying.once((pool) => {
            pool.copyFailedAt = Number.NEGATIVE_INFINITY;
            return commitBatch(pool, batch, { createdAt: Date.now(), ownKey: "" }, () => undefined);
          }),
          inserting.once((pool) =>
            commitBatch(pool, batch, { createdAt: Date.now(), ownKey: "" }, () => undefined),
          ),
        ]);
        expect<string[]>(outcomes.flat().toSorted()).toEqual([
          ...batch.map(() => "created"),
          ...batch.map(() => "unchanged"),
        ]);
      }
    } finally {
      await Promise.all([copying.close(), inserting.close()]);
    }
  });

  test("each id is at the node that Citus names", async () => {
    const { query, readMap } = await newStore();
    const map = await readMap();
    expect([...map.nodes.keys()].sort()).toEqual(cluster.workers.map(nodeName).sort());
    const ids = Array.from({ length: 5_000 }, (_, n) =>
      BigInt.asIntN(64, BigInt(n) * 0x9e37_79b9_7f4a_7c15n),
    );
    ids.push(2n ** 63n - 1n, -(2n ** 63n));
    const rows = await query(
      `SELECT id::text, nodename || ':' || nodeport AS node
       FROM unnest('{${ids.join(",")}}'::int8[]) AS ids (id)
       JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('plants', id)
       JOIN pg_dist_node USING (groupid)`,
    );
    expect(rows).toHaveLength(ids.length);
    expect(rows.filter(({ id, node }) => map.nodeOf(BigInt(id as string)) !== node)).toEqual([]);
  });

  test("a running server creates plants without the coordinator; tokens can be changed again when it is back", async () => {
    const { address } = await newStore();
    await using service = await startLoad(`${address}?retry_timeout=1`);
    await service.load.acknowledgedMore(100);
    const revoke = ["token", "revoke", "first", "--database", `${address}?retry_timeout=1`];
    await cluster.coordinator.stop("SIGKILL");
    try {
      await service.load.acknowledgedMore(200);
      expect(await runCommand(revoke)).toMatchObject({ exitCode: 1, stdout: "" });
    } finally {
      await cluster.coordinator.run();
    }
    await service.load.stop();
    expect([...service.load.statuses.keys()]).toEqual([200]);
    expect(await runCommand(revoke)).toMatchObject({ exitCode: 0 });
    expect(service.load.audit(await exported(address))).toEqual([]);
  });

  test.each<[string, (worker: PostgresServer) => Promise<void>, (worker: PostgresServer) => Promise<void>]>([
    ["killed", (worker) => worker.stop("SIGKILL"), (worker) => worker.run()],
    ["frozen", async (worker) => worker.freeze(), async (worker) => worker.thaw()],
  ])(
    "a worker is %s under load: the plants of the other go on, its own are refused and come back, and none is lost",
    async (_, stop, start) => {
      const { address, readMap } = await newStore();
      const map = await readMap();
      const [worker, other] = cluster.workers;
      await using service = await startLoad(`${address}?statement_timeout=1&connect_timeout=1`);
      for (const node of map.nodes.keys()) await service.acknowledgedMore(100, map, node);
      await stop(worker);
      try {
        await eventually("the worker is down", async () => {
          return (await service.nodesUp()).get(nodeName(worker)) === false;
        });
        await service.acknowledgedMore(500, map, nodeName(other));
      } finally {
        await start(worker);
      }
      for (const node of map.nodes.keys()) await service.acknowledgedMore(100, map, node);
      await service.load.stop();
      expect([...service.load.statuses.keys()].sort()).toEqual([200, 503]);
      const refused = [...service.load.sent.keys()].filter((id) => !service.load.acknowledged.has(id));
      expect(new Set(refused.map((id) => map.nodeOf(id)))).toEqual(new Set([nodeName(worker)]));
      expect(service.load.audit(await exported(address))).toEqual([]);
    },
  );

  test("shards move and split, and nodes are drained, removed and added under load: no plant is lost, and none is refused", async () => {
    const { address, query, readMap } = await newStore();
    await using service = await startLoad(address);
    const { load } = service;
    const [worker, other] = cluster.workers;
    const hosts = [worker, other].map(({ port }) => `'127.0.0.1', ${port}`);
    const shardOf = async (port: number) => {
      const [row] = await query(
        `SELECT shardid FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE nodeport = ${port} ORDER BY shardid LIMIT 1`,
      );
      return row?.shardid;
    };
    await load.acknowledgedMore(200);
    await query(`SELECT citus_move_shard_placement(${await shardOf(worker.port)}, ${hosts[0]}, ${hosts[1]})`);
    await load.acknowledgedMore(200);
    const [node] = await query(`SELECT nodeid FROM pg_dist_node WHERE nodeport = ${other.port}`);
    await query(
      `SELECT citus_split_shard_by_split_points(shardid, ARRAY[((shardminvalue::int8 + shardmaxvalue::int8) / 2)::text], ARRAY[${node?.nodeid}, ${node?.nodeid}], 'block_writes')
       FROM pg_dist_shard WHERE shardid = ${await shardOf(other.port)}`,
    );
    await load.acknowledgedMore(200);
    await query(`SELECT citus_drain_node(${hosts[0]}, 'block_writes')`);
    // Shards that were left behind would keep those of the same name from coming back.
    await eventually(
      "no shard is left behind",
      async () => {
        await query("CALL citus_cleanup_orphaned_resources()");
        return query("SELECT 1 FROM pg_dist_cleanup");
      },
      ({ length }) => length === 0,
    );
    await query(`SELECT citus_remove_node(${hosts[0]})`);
    await nodesAre(service, [nodeName(other)]);
    await load.acknowledgedMore(200);
    await query(`SELECT citus_add_node(${hosts[0]})`);
    await query("SELECT rebalance_table_shards('plants', shard_transfer_mode := 'block_writes')");
    await nodesAre(service, [worker, other].map(nodeName));
    const map = await readMap();
    for (const name of map.nodes.keys()) await service.acknowledgedMore(200, map, name);
    // As after a failover to a standby.
    await query(`SELECT citus_update_node(${node?.nodeid}, 'localhost', ${other.port})`);
    await nodesAre(service, [nodeName(worker), `localhost:${other.port}`]);
    await service.acknowledgedMore(200, await readMap(), `localhost:${other.port}`);
    await load.stop();
    expect([...load.statuses.keys()]).toEqual([200]);
    expect(load.audit(await exported(address))).toEqual([]);
  });

  test("a removed node is stopped before shards move again, as documented: no plant is lost", async () => {
    const { address, query } = await newStore();
    await using service = await startLoad(address);
    const { load } = service;
    const [removed, other] = cluster.workers;
    await load.acknowledgedMore(200);
    await query(`SELECT citus_drain_node('127.0.0.1', ${removed.port}, 'block_writes')`);
    await query(`SELECT citus_remove_node('127.0.0.1', ${removed.port})`);
    await removed.stop("SIGINT");
    try {
      const { port } = cluster.coordinator;
      await query(`SELECT citus_set_node_property('127.0.0.1', ${port}, 'shouldhaveshards', true)`);
      await query(
        `SELECT citus_move_shard_placement(min(shardid), '127.0.0.1', ${other.port}, '127.0.0.1', ${port}, 'block_writes')
         FROM pg_dist_shard WHERE logicalrelid = 'plants'::regclass`,
      );
      await nodesAre(service, [cluster.coordinator, other].map(nodeName));
      await load.acknowledgedMore(200);
      await load.stop();
    } finally {
      await removed.run();
    }
    expect(load.audit(await exported(address))).toEqual([]);
  });

  test("the number of shards changes under load by way of the coordinator, as documented: no plant is lost", async () => {
    const { address, query } = await newStore();
    await using service = await startLoad(`${address}?citus=coordinator`);
    const { load } = service;
    await load.acknowledgedMore(200);
    await query("SELECT alter_distributed_table('plants', shard_count => 8)");
    await load.acknowledgedMore(200);
    await load.stop();
    expect(await query("SELECT count(*)::int AS shards FROM pg_dist_shard")).toEqual([{ shards: 8 }]);
    expect(load.audit(await exported(address))).toEqual([]);
  });

  test("a node that cannot send plants on to another is up, and the shard map is read again", async () => {
    let refreshes = 0;
    const { name, address } = await cluster.newDatabase();
    await createStore(address);
    const url = parsePostgresUrl(
      cluster.workers[0].address(`${name}?retry_timeout=2`).replace(/^postgres:/, ""),
    );
    const node = new CitusNode({
      name: "worker",
      url,
      coordinator: { once: fail, withRetry: fail },
      onUnavailable: () => undefined,
      onOutdated: () => refreshes++,
    });
    const forward = (pool: Queries) =>
      pool.query("DO $$ BEGIN RAISE 'connection to the remote node failed' USING ERRCODE = '08006'; END $$");
    try {
      expect(await node.withRetry(forward).catch(classifyError)).toBe("connectionLost");
      expect(node.isUp).toBe(true);
      expect(refreshes).toBeGreaterThan(1);
    } finally {
      await node.close();
    }
  });

  test("plants of a worker without metadata go through the coordinator", async () => {
    const { address, query } = await newStore();
    await query(`SELECT stop_metadata_sync_to_node('127.0.0.1', ${cluster.workers[0].port})`);
    await using service = await startLoad(address);
    await service.load.acknowledgedMore(200);
    await service.load.stop();
    expect([...service.load.statuses.keys()]).toEqual([200]);
  });

  test("citus=coordinator sends all plants to the coordinator", async () => {
    const { address } = await newStore();
    await using service = await startLoad(`${address}?citus=coordinator`);
    await service.load.acknowledgedMore(100);
    expect(await service.nodesUp()).toEqual(new Map());
  });
});
