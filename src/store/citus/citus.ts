// A Citus cluster, as a server uses it: reads the shard map, and keeps a queue and connections for
// each node that has plants. Everything but creates goes to the coordinator.

import { CoalescedWork } from "../../base/coalesced-work.ts";
import { OperatorError } from "../../base/operator-error.ts";
import type { Emit } from "../../base/server-event.ts";
import type { CreateQueue, GroupCommitLimits, QueueContext, QueueLimits } from "../group-commit.ts";
import { DatabaseError } from "../postgres/driver.ts";
import { classifyError, errorReason } from "../postgres/errors.ts";
import type { Queries } from "../postgres/host-pool.ts";
import { createPlants, probe } from "../postgres/plants.ts";
import type { Commits } from "../postgres/primary.ts";
import type { Cluster, Coordinator } from "../postgres/store.ts";
import { CitusNode } from "./node.ts";
import { NodeQueues, type NodeStore } from "./node-queues.ts";
import { isCitusInstalled, readShardMaps, type Shard, type ShardMap } from "./shard-map.ts";

/** How often the shard map is read. Until then batches go through a moved shard's former node. */
const readMapMs = 5_000;

type ShardMaps = ReadonlyMap<string, ShardMap>;

/** The name of the queue of collections that Citus has not distributed. */
const coordinatorName = "coordinator";

export const citus: Cluster = { openQueue: openNodeQueues, isDistributed, bytesOnNodes };

/** Opens the queues of all nodes; undefined unless Citus has distributed the plants. */
async function openNodeQueues(
  coordinator: Coordinator,
  limits: QueueLimits,
  context: QueueContext,
): Promise<CreateQueue | undefined> {
  if (!coordinator.url.usesCitusNodes) return undefined;
  const maps = await coordinator.primary.withRetry(readShardMaps);
  if (!coordinator.contract.collections.some(({ table }) => maps.has(table))) return undefined;
  await keepHistoryInTwoPhases(coordinator.primary);
  // Half as many as to a single server, because Citus needs large batches. At 256 connections and
  // two workers, 4 to each node made batches of 35 plants and 25 µs of processor time a plant, 2
  // made 42 and 24.
  const batchesInFlightMax = Math.ceil(coordinator.url.connectionsMax / 2);
  return new CitusQueues(coordinator, maps, { ...limits, batchesInFlightMax }, context);
}

/**
 * Makes the history a table that Citus knows. A transaction that writes to it and to a plant on a worker
 * is then committed in two phases; otherwise Citus sends the worker a plain COMMIT before the
 * coordinator's, so that a crash between them leaves a change without its history.
 */
async function keepHistoryInTwoPhases(primary: Commits): Promise<void> {
  const isKnown = (pool: Queries) =>
    pool.query("SELECT FROM pg_dist_partition WHERE logicalrelid = 'edits'::regclass");
  const make = async (pool: Queries) => {
    if ((await isKnown(pool)).rows.length > 0) return;
    try {
      await pool.query("SELECT citus_add_local_table_to_metadata('edits')");
    } catch (error) {
      // Another server has come first.
      if ((await isKnown(pool)).rows.length === 0) throw error;
    }
  };
  try {
    await primary.withRetry(make);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new OperatorError(
      `the history cannot be kept together with changes on the workers: ${errorReason(error)}; run "SELECT citus_add_local_table_to_metadata('edits')" on the coordinator as the owner of the tables`,
    );
  }
}

/** Whether Citus has distributed the plants of any collection. */
async function isDistributed(connection: Queries): Promise<boolean> {
  return (await readShardMaps(connection)).size > 0;
}

/** The size of the plants and their indexes on all nodes; 0 unless Citus has distributed them. */
async function bytesOnNodes(connection: Queries): Promise<number> {
  if (!(await isCitusInstalled(connection))) return 0;
  const { rows } = await connection.query<{ bytes: string }>(
    `SELECT sum(citus_total_relation_size(logicalrelid)) AS bytes
     FROM collections JOIN pg_dist_partition ON logicalrelid = to_regclass(quote_ident(name))`,
  );
  return Number(rows[0]?.bytes ?? 0);
}

class CitusQueues extends NodeQueues {
  readonly #coordinator: Coordinator;
  readonly #timer: Timer;
  readonly #reads: CoalescedWork<void>;
  #isClosed = false;

  constructor(coordinator: Coordinator, maps: ShardMaps, limits: GroupCommitLimits, context: QueueContext) {
    super(limits, context);
    this.#coordinator = coordinator;
    this.#reads = new CoalescedWork(() => this.#read(context.emit));
    this.#use(maps);
    this.#timer = setInterval(() => this.#refresh(), readMapMs);
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#reads.settled();
    await super.close();
  }

  #use(maps: ShardMaps): void {
    const { collections } = this.#coordinator.contract;
    const nodes = new Map<string, () => NodeStore>();
    for (const map of maps.values())
      for (const [name, shard] of map.nodes) nodes.set(name, () => this.#open(name, shard));
    if (!collections.every(({ table }) => maps.has(table)))
      nodes.set(coordinatorName, () => this.#openCoordinator());
    this.update(nodes, ({ table }, id) => maps.get(table)?.nodeOf(id) ?? coordinatorName);
  }

  #open(name: string, { host, port }: Shard): CitusNode {
    const { url, primary, onUnavailable } = this.#coordinator;
    return new CitusNode({
      name,
      url: { ...url, hosts: url.hosts.slice(0, 1).map((first) => ({ ...first, host, port })) },
      coordinator: primary,
      onUnavailable: (reason) => onUnavailable(`${name}: ${reason}`),
      onOutdated: () => this.#refresh(),
    });
  }

  /** The node of the collections that have no map. */
  #openCoordinator(): NodeStore {
    const { primary, contract, onUnavailable } = this.#coordinator;
    return {
      name: coordinatorName,
      isUp: true,
      create: (batch, createdAt = Date.now()) => createPlants(primary, batch, createdAt, onUnavailable),
      assertWritable: () => primary.once((pool) => probe(pool, contract)),
      close: async () => undefined,
    };
  }

  #refresh(): void {
    if (!this.#isClosed) void this.#reads.run();
  }

  /** Reads the shard map again. The map in use stays if there is none, or no coordinator. */
  async #read(emit: Emit): Promise<void> {
    try {
      const maps = await this.#coordinator.primary.once(readShardMaps);
      if (maps.size > 0 && !this.#isClosed) this.#use(maps);
    } catch (error) {
      // Nobody awaits a refresh.
      const reason = `the shard map cannot be read: ${errorReason(error)}`;
      if (classifyError(error) !== "internalError") emit({ kind: "storeTaskFailed", reason });
      else emit({ kind: "internalError", requestId: "citus", error });
    }
  }
}
