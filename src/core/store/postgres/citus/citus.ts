// A Citus cluster, as a server uses it: reads the shard map every second, keeps a queue and
// connections for each node that has plants, and probes nodes that do not commit.

import { withinTime } from "../../../time-limit.ts";
import type { CreateQueue, GroupCommitLimits, QueueContext, QueueLimits } from "../../group-commit.ts";
import type { PlantStore, StoreEvents } from "../../plant-store.ts";
import type { Queries } from "../connection.ts";
import type { PostgresUrl } from "../connection-url.ts";
import { classifyError, errorReason } from "../errors.ts";
import type { Commits, Primary } from "../primary.ts";
import { CitusNode, probeMsMax } from "./node.ts";
import { NodeQueues, type NodeStore } from "./node-queues.ts";
import { MapError, type MappedNode, type Metadata, metadataSql, ShardMap } from "./shard-map.ts";

/** Has all plants while the shard map cannot be used. */
const coordinatorName = "coordinator";

const readMapMs = 1_000;
const checkNodesMs = 250;

export type ClusterEvents = Pick<StoreEvents, "onUnavailable" | "onDegraded">;

/** The parts of an open store that its cluster uses. */
interface ClusterStore {
  readonly store: Pick<PlantStore, "create" | "assertWritable">;
  readonly primary: Primary;
  readonly url: PostgresUrl;
  readonly events: ClusterEvents;
}

/** Opens the queues of all nodes; undefined without Citus. Rejects if it cannot be reached. */
export async function openNodeQueues(
  cluster: ClusterStore,
  limits: QueueLimits,
  context: QueueContext,
): Promise<CreateQueue | undefined> {
  if (!cluster.url.usesCitusNodes || (await cluster.primary.withRetry(citusVersion)) === undefined)
    return undefined;
  const batchesInFlightMax = batchesOfNode(cluster.url.connectionsMax);
  const queue = new CitusQueue(cluster, { ...limits, batchesInFlightMax }, context);
  await queue.start();
  return queue;
}

async function citusVersion(connection: Queries): Promise<string | undefined> {
  const { rows } = await connection.query<{ version: string }>(
    "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'",
  );
  return rows[0]?.version;
}

/** The SQL that measures the tables on all nodes, as `bytes`; undefined without Citus. */
export async function bytesOnNodesSql(pool: Queries): Promise<string | undefined> {
  if ((await citusVersion(pool)) === undefined) return undefined;
  return `SELECT sum(CASE WHEN logicalrelid IS NULL THEN pg_total_relation_size(pg_class.oid)
                          ELSE citus_total_relation_size(pg_class.oid) END) AS bytes
          FROM pg_class LEFT JOIN pg_dist_partition ON logicalrelid = pg_class.oid
          WHERE pg_class.oid IN (to_regclass('plants'), to_regclass('tokens'), to_regclass('creators'),
                                 to_regclass('edits'))`;
}

/**
 * The batches in flight to each node, half as many as to a single server: Citus needs large
 * batches. At 256 connections and two workers, 4 to each node made batches of 35 plants and 25 µs
 * of processor time a plant, 2 made 42 and 24.
 */
function batchesOfNode(connectionsMax: number): number {
  return Math.ceil(connectionsMax / 2);
}

class CitusQueue extends NodeQueues {
  readonly #cluster: ClusterStore;
  readonly #coordinator: NodeStore;
  /** The source of the map. */
  #metadata: string | undefined;
  /** Nodes by name; empty while the map cannot be used. */
  #nodes = new Map<string, CitusNode>();
  #mapFailure: string | undefined;
  #reported = new Set<string>();
  #timers: readonly Timer[] = [];
  #reading: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(cluster: ClusterStore, limits: GroupCommitLimits, context: QueueContext) {
    super(limits, context);
    this.#cluster = cluster;
    this.#coordinator = {
      create: (batch) => cluster.store.create(batch),
      assertWritable: () => cluster.store.assertWritable(),
      isUp: true,
      retire: () => undefined,
      close: async () => undefined,
    };
    this.#updateQueues(undefined);
  }

  /** Resolves when the shard map was read, or could not be. */
  async start(): Promise<void> {
    await this.#refresh();
    this.#timers = [
      setInterval(() => void this.#refresh(), readMapMs),
      setInterval(() => this.#checkNodes(), checkNodesMs),
    ];
  }

  override close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Probes continue while queues empty, so that the queue of a lost node empties at once.
    await super.close();
    await this.#reading;
    for (const timer of this.#timers) clearInterval(timer);
  }

  #checkNodes(): void {
    for (const node of this.#nodes.values()) void node.check();
  }

  /** Reads the shard map again. The map in use stays if no node responds. */
  #refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    if (this.#closing !== undefined) return;
    try {
      const metadata = await this.#readMetadata();
      if (metadata === this.#metadata) return;
      await this.#useMap(ShardMap.parse(JSON.parse(metadata) as Metadata));
      this.#metadata = metadata;
    } catch (error) {
      const failure = classifyError(error);
      if (error instanceof MapError) this.#useCoordinator(error.message);
      else if (failure === "internalError") throw error;
      else if (failure === "rejected" && this.#nodes.size === 0)
        this.#useCoordinator(`its catalog cannot be read: ${errorReason(error)}`);
      // No node responded, or the map was changing: the next read is soon enough.
    }
  }

  /** From the coordinator, or from another node while it is down: the map cannot change then. */
  async #readMetadata(): Promise<string> {
    const read = async (source: Commits) => {
      const reading = source.once((pool) => pool.query<{ metadata: string }>(metadataSql));
      const { rows } = await withinTime(reading, probeMsMax, "the node");
      return rows[0]?.metadata ?? "";
    };
    try {
      return await read(this.#cluster.primary);
    } catch (error) {
      const other = [...this.#nodes.values()].find(({ isDirect }) => isDirect);
      if (other === undefined) throw error;
      return read(other);
    }
  }

  async #useMap(map: ShardMap): Promise<void> {
    const nodes = new Map(map.nodes.map((node) => [node.name, this.#nodeFor(node, map)]));
    // Until new nodes are ready, plants stay with the old ones.
    const added = [...nodes.values()].filter(({ name }) => !this.#nodes.has(name));
    await Promise.all(added.map((node) => node.check()));
    if (this.#closing !== undefined) {
      await Promise.all(added.map((node) => node.close()));
      return;
    }
    this.#nodes = nodes;
    this.#mapFailure = undefined;
    this.#updateQueues(map);
    this.#report();
  }

  #useCoordinator(reason: string): void {
    if (this.#closing !== undefined) return;
    this.#nodes = new Map();
    this.#metadata = undefined;
    this.#mapFailure = reason;
    this.#updateQueues(undefined);
    this.#report();
  }

  #updateQueues(map: ShardMap | undefined): void {
    if (map === undefined)
      this.update(new Map([[coordinatorName, this.#coordinator]]), () => coordinatorName);
    else this.update(this.#nodes, (id) => map.nodeOf(id).name);
  }

  #nodeFor(node: MappedNode, map: ShardMap): CitusNode {
    const existing = this.#nodes.get(node.name);
    existing?.update(node, map);
    if (existing !== undefined) return existing;
    return new CitusNode(node, map, {
      url: this.#cluster.url,
      onUnavailable: this.#cluster.events.onUnavailable,
      onRouteChanged: () => this.#report(),
      onOutdated: () => void this.#refresh(),
    });
  }

  /** Reports each reason why a way is slower once, until it has ended. */
  #report(): void {
    const reasons = [this.#mapFailure, ...[...this.#nodes.values()].map(({ routedReason }) => routedReason)];
    const current = reasons.filter((reason) => reason !== undefined);
    for (const reason of current)
      if (!this.#reported.has(reason)) this.#cluster.events.onDegraded(`Citus: ${reason}`);
    this.#reported = new Set(current);
  }
}
