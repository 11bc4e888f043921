// The nodes of a real cluster: batches go straight to the workers, one worker down is one worker
// down, and creates go on while shards and nodes change.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { NewPlant } from "../../../src/core/contract/plant.ts";
import {
  type CreateOutcome,
  type CreateQueue,
  openCreateQueue,
} from "../../../src/core/store/group-commit.ts";
import { toEntries } from "../../../src/core/store/plant-store.ts";
import { commitBatch } from "../../../src/core/store/postgres/batch.ts";
import { ShardMap } from "../../../src/core/store/postgres/citus/shard-map.ts";
import { parsePostgresUrl } from "../../../src/core/store/postgres/connection-url.ts";
import type { Queries } from "../../../src/core/store/postgres/host-pool.ts";
import { Primary } from "../../../src/core/store/postgres/primary.ts";
import { CitusCluster, describeCitus } from "../../support/citus.ts";
import { eventually } from "../../support/eventually.ts";
import type { PostgresServer } from "../../support/postgres.ts";
import { createStore } from "../../support/server.ts";
import { openedStore, storedPlants } from "../../support/stored-plants.ts";

/** A store with distributed plants and its queue, as a server has them. */
class Service implements AsyncDisposable {
  readonly unavailable: string[] = [];
  readonly #stack = new AsyncDisposableStack();
  readonly #readMap: () => Promise<ShardMap | undefined>;
  #queue: CreateQueue | undefined;
  #map: ShardMap | undefined;

  private constructor(readMap: () => Promise<ShardMap | undefined>) {
    this.#readMap = readMap;
  }

  static async open(cluster: CitusCluster, name: string, parameters = ""): Promise<Service> {
    const query = async (sql: string) => ({ rows: await cluster.coordinator.query(name, sql) });
    const service = new Service(() => ShardMap.read({ query } as Queries));
    const address = `${cluster.coordinator.address(name)}${parameters}`;
    const store = await openedStore(address, (reason) => service.unavailable.push(reason));
    service.#stack.use(store);
    const limits = { queuePlantsMax: 10_000, queueCodeUnitsMax: 1_000_000, batchPlantsMax: 1_024 };
    const context = { now: () => performance.now(), emit: () => undefined };
    const queue = await openCreateQueue(store, limits, context);
    service.#queue = queue;
    service.#stack.defer(() => queue.close());
    await service.readMap();
    return service;
  }

  /** Whether each node commits, by name; the queue of one node has no names. */
  nodes(): Record<string, boolean> {
    return Object.fromEntries(this.#queue?.nodesUp ?? []);
  }

  /** Reads the shard map, by which nodeOf finds the node of an id. */
  async readMap(): Promise<void> {
    this.#map = await this.#readMap();
  }

  nodeOf(id: bigint): string | undefined {
    return this.#map?.nodeOf(id);
  }

  create(plant: NewPlant): Promise<CreateOutcome> {
    return new Promise((settle, fail) =>
      this.#queue?.create({ plant, creator: null, callerKey: "one", settle, fail }),
    );
  }

  /** The outcomes of plants that are created at once, each once. */
  async createAll(ids: readonly bigint[]): Promise<CreateOutcome[]> {
    return [...new Set(await Promise.all(ids.map((id) => this.create({ id, name: "Fern" }))))];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

const nodesOf = (service: Service) => Object.keys(service.nodes());

/**
 * Clients that create plants without a pause, and race for half of their ids with different names.
 */
class Race {
  /** By id: the name that was acknowledged. */
  readonly acknowledged = new Map<bigint, string>();
  readonly conflicts = new Map<bigint, string>();
  readonly refused = new Map<string, number>();
  readonly violations: string[] = [];
  readonly #created = new Set<bigint>();
  readonly #service: Service;
  readonly #running: Promise<unknown>;
  #nextId = 0n;
  #isStopped = false;

  constructor(service: Service, clients: number) {
    this.#service = service;
    this.#running = Promise.all(Array.from({ length: clients }, (_, client) => this.#run(client)));
  }

  /** Resolves when `count` more plants are acknowledged, of one node if it is named. */
  async more(count: number, node?: string): Promise<void> {
    const acknowledged = () =>
      [...this.acknowledged.keys()].filter((id) => node === undefined || this.#service.nodeOf(id) === node)
        .length;
    const wanted = acknowledged() + count;
    await eventually(
      `${wanted} plants of ${node ?? "any node"} are acknowledged`,
      acknowledged,
      (plants) => plants >= wanted,
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** Compares the record with the plants in the store. */
  async audit(address: string): Promise<string[]> {
    const stored = new Map<bigint, string>();
    for (const { id, name } of await storedPlants(address)) {
      if (stored.has(id)) this.violations.push(`twice: ${id}`);
      stored.set(id, name);
    }
    return [
      ...this.violations,
      ...[...this.acknowledged]
        .filter(([id, name]) => stored.get(id) !== name)
        .map(([id]) => `lost or changed: ${id}`),
      ...[...this.conflicts]
        .filter(([id, name]) => [undefined, name].includes(stored.get(id)))
        .map(([id]) => `no conflict: ${id}`),
    ];
  }

  async #run(client: number): Promise<void> {
    while (!this.#isStopped) {
      // Two clients in turn get the same id.
      const id = BigInt.asIntN(64, (this.#nextId++ >> 1n) * 0x9e37_79b9_7f4a_7c15n);
      const name = `client ${client % 3}`;
      const outcome = await this.#service.create({ id, name });
      if (outcome === "created" || outcome === "unchanged") this.#acknowledge(id, name, outcome);
      else if (outcome === "conflict") this.conflicts.set(id, name);
      else {
        const node = this.#service.nodeOf(id) ?? "";
        this.refused.set(node, (this.refused.get(node) ?? 0) + 1);
        await Bun.sleep(1);
      }
    }
  }

  #acknowledge(id: bigint, name: string, outcome: "created" | "unchanged"): void {
    if (outcome === "created" && this.#created.has(id)) this.violations.push(`created twice: ${id}`);
    if (outcome === "created") this.#created.add(id);
    const before = this.acknowledged.get(id);
    if (before !== undefined && before !== name) this.violations.push(`two names acknowledged: ${id}`);
    this.acknowledged.set(id, name);
  }
}

describeCitus("Citus nodes", () => {
  let cluster: CitusCluster;
  beforeAll(async () => {
    cluster = await CitusCluster.start();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  /** A store of its own with distributed plants. */
  async function newStore() {
    const { name, address } = await cluster.newDatabase();
    await createStore(address);
    const query = (sql: string) => cluster.coordinator.query(name, sql);
    await cluster.distribute(name);
    return { name, address, query };
  }

  const nodesAre = (service: Service, count: number) =>
    eventually(
      `the service has ${count} nodes`,
      () => nodesOf(service),
      ({ length }) => length === count,
    );

  const nodeName = ({ port }: { port: number }) => `127.0.0.1:${port}`;

  test("batches of the same ids, by COPY and by INSERT, do not deadlock", async () => {
    const { name } = await newStore();
    const [worker] = cluster.workers;
    await using service = await Service.open(cluster, name);
    const url = parsePostgresUrl(worker.address(name).replace(/^postgres:/, ""));
    const [copying, inserting] = [new Primary(url), new Primary(url)];
    try {
      for (let round = 0; round < 20; round++) {
        const ids = Array.from({ length: 400 }, (_, id) => BigInt(round * 400 + id));
        const ofWorker = ids.filter((id) => service.nodeOf(id) === nodeName(worker));
        const batch = toEntries(ofWorker.map((id) => ({ id, name: "Fern" })));
        const outcomes = await Promise.all([
          copying.once((pool) => {
            pool.copyFailedAt = Number.NEGATIVE_INFINITY;
            return commitBatch(pool, batch);
          }),
          inserting.once((pool) => {
            pool.copyFailedAt = Number.POSITIVE_INFINITY;
            return commitBatch(pool, batch);
          }),
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
    const { name, query } = await newStore();
    await using service = await Service.open(cluster, name);
    expect(nodesOf(service).sort()).toEqual(cluster.workers.map(nodeName).sort());
    const edges = [
      0n,
      1n,
      -1n,
      2n ** 31n,
      -(2n ** 31n),
      2n ** 32n,
      -(2n ** 32n),
      2n ** 63n - 1n,
      -(2n ** 63n),
    ];
    const ids = [
      ...edges,
      ...Array.from({ length: 5_000 }, (_, n) => BigInt.asIntN(64, BigInt(n) * 0x9e37_79b9_7f4a_7c15n)),
    ];
    const rows = await query(
      `SELECT id::text, nodename || ':' || nodeport AS node
       FROM unnest('{${ids.join(",")}}'::int8[]) AS ids (id)
       JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('plants', id)
       JOIN pg_dist_node USING (groupid)`,
    );
    expect(rows).toHaveLength(ids.length);
    expect(rows.filter(({ id, node }) => service.nodeOf(BigInt(id as string)) !== node)).toEqual([]);
  });

  test("a commit needs neither the coordinator nor a connection between nodes; citus=coordinator sends all batches to it", async () => {
    const { name } = await newStore();
    await using service = await Service.open(cluster, name);
    const ids = Array.from({ length: 200 }, (_, id) => BigInt(id - 100));
    await cluster.coordinator.stop("SIGKILL");
    try {
      expect(await service.createAll(ids)).toEqual(["created"]);
      for (const worker of cluster.workers) {
        const sql =
          // But for the searches of each node for transactions left behind, and for deadlocks.
          "SELECT application_name, query FROM pg_stat_activity WHERE application_name LIKE 'citus_internal%' AND datname = current_database() AND query !~ 'pg_prepared_xacts|dump_local_wait_edges'";
        expect(await worker.query(name, sql)).toEqual([]);
      }
    } finally {
      await cluster.coordinator.run();
    }
    await using through = await Service.open(cluster, name, "?citus=coordinator");
    expect(through.nodes()).toEqual({});
    expect(await through.create({ id: 1n, name: "Fern" })).toBe("unchanged");
  });

  test.each<[string, (worker: PostgresServer) => Promise<void>, (worker: PostgresServer) => Promise<void>]>([
    ["killed", (worker) => worker.stop("SIGKILL"), (worker) => worker.run()],
    ["frozen", async (worker) => worker.freeze(), async (worker) => worker.thaw()],
  ])(
    "a worker is %s under load: the plants of the other go on, its own are refused and come back, and none is lost",
    async (_, stop, start) => {
      const { name, address } = await newStore();
      await using service = await Service.open(cluster, name);
      const [worker, other] = cluster.workers;
      const race = new Race(service, 64);
      try {
        for (const node of nodesOf(service)) await race.more(200, node);
        await stop(worker);
        try {
          await eventually("the worker is down", () => !service.nodes()[nodeName(worker)]);
          const before = race.refused.get(nodeName(worker)) ?? 0;
          await race.more(1_000, nodeName(other));
          expect(race.refused.get(nodeName(worker)) ?? 0).toBeGreaterThan(before);
          expect(race.refused.get(nodeName(other))).toBeUndefined();
        } finally {
          await start(worker);
        }
        for (const node of nodesOf(service)) await race.more(200, node);
      } finally {
        await race.stop();
      }
      expect(await race.audit(address)).toEqual([]);
    },
  );

  test("shards move and split, and nodes are drained, removed and added under load: no plant is lost, and none is refused", async () => {
    const { name, address, query } = await newStore();
    await using service = await Service.open(cluster, name);
    const [worker, other] = cluster.workers;
    const race = new Race(service, 64);
    const hosts = [worker, other].map(({ port }) => `'127.0.0.1', ${port}`);
    const shardOf = async (port: number) => {
      const [row] = await query(
        `SELECT shardid FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE nodeport = ${port} ORDER BY shardid LIMIT 1`,
      );
      return row?.shardid;
    };
    try {
      await race.more(500);
      await query(
        `SELECT citus_move_shard_placement(${await shardOf(worker.port)}, ${hosts[0]}, ${hosts[1]})`,
      );
      await race.more(500);
      const [node] = await query(`SELECT nodeid FROM pg_dist_node WHERE nodeport = ${other.port}`);
      await query(
        `SELECT citus_split_shard_by_split_points(shardid, ARRAY[((shardminvalue::int8 + shardmaxvalue::int8) / 2)::text], ARRAY[${node?.nodeid}, ${node?.nodeid}], 'block_writes')
         FROM pg_dist_shard WHERE shardid = ${await shardOf(other.port)}`,
      );
      await race.more(500);
      await query(`SELECT citus_drain_node(${hosts[0]}, 'block_writes')`);
      // Shards that were left behind would keep those of the same name from coming back.
      for (let attempt = 0; attempt < 20; attempt++) {
        await query("CALL citus_cleanup_orphaned_resources()");
        if ((await query("SELECT 1 FROM pg_dist_cleanup")).length === 0) break;
        await Bun.sleep(100);
      }
      await query(`SELECT citus_remove_node(${hosts[0]})`);
      await nodesAre(service, 1);
      await race.more(500);
      await query(`SELECT citus_add_node(${hosts[0]})`);
      await query("SELECT rebalance_table_shards('plants', shard_transfer_mode := 'block_writes')");
      await nodesAre(service, 2);
      await service.readMap();
      for (const node of nodesOf(service)) await race.more(500, node);
      // As after a failover to a standby.
      await query(`SELECT citus_update_node(${node?.nodeid}, 'localhost', ${other.port})`);
      await eventually("the node has its new address", () =>
        nodesOf(service).includes(`localhost:${other.port}`),
      );
      await service.readMap();
      await race.more(500, `localhost:${other.port}`);
    } finally {
      await race.stop();
    }
    expect(await race.audit(address)).toEqual([]);
    expect([...race.refused]).toEqual([]);
  });

  test("plants of a worker without metadata go through the coordinator", async () => {
    const { name, query } = await newStore();
    await query(`SELECT stop_metadata_sync_to_node('127.0.0.1', ${cluster.workers[0].port})`);
    await using service = await Service.open(cluster, name);
    const ids = Array.from({ length: 50 }, (_, id) => BigInt(id));
    expect(await service.createAll(ids)).toEqual(["created"]);
  });
});
