// A Citus cluster, as a server uses it: reads the shard map, and keeps a queue and connections for
// each node that has plants. Everything but creates goes to the coordinator.

import type { Collection } from "../../../contract/contract.ts";
import type { Emit } from "../../../observability/server-event.ts";
import type { CreateQueue, GroupCommitLimits, QueueContext, QueueLimits } from "../../group-commit.ts";
import type { OnUnavailable } from "../../plant-store.ts";
import type { PostgresUrl } from "../connection-url.ts";
import { classifyError, errorReason } from "../errors.ts";
import type { Queries } from "../host-pool.ts";
import type { Primary } from "../primary.ts";
import { CitusNode } from "./node.ts";
import { NodeQueues } from "./node-queues.ts";
import { isCitusInstalled, type Shard, ShardMap } from "./shard-map.ts";

/** How often the shard map is read. Until then batches go through a moved shard's former node. */
const readMapMs = 5_000;

/** The coordinator of a store. */
interface Coordinator {
  readonly url: PostgresUrl;
  readonly primary: Primary;
  readonly collection: Collection;
  readonly onUnavailable: OnUnavailable;
}

/** Opens the queues of all nodes; undefined unless Citus has distributed the plants. */
export async function openNodeQueues(
  coordinator: Coordinator,
  limits: QueueLimits,
  context: QueueContext,
): Promise<CreateQueue | undefined> {
  // The hash of a text is PostgreSQL's own; batches of texts go by way of the coordinator.
  const hasInt64Ids = coordinator.collection.id.type.kind === "integer";
  if (!coordinator.url.usesCitusNodes || !hasInt64Ids) return undefined;
  const map = await coordinator.primary.withRetry(ShardMap.read);
  if (map === undefined) return undefined;
  // Half as many as to a single server, because Citus needs large batches. At 256 connections and
  // two workers, 4 to each node made batches of 35 plants and 25 µs of processor time a plant, 2
  // made 42 and 24.
  const batchesInFlightMax = Math.ceil(coordinator.url.connectionsMax / 2);
  return new CitusQueues(coordinator, map, { ...limits, batchesInFlightMax }, context);
}

/** The size of the plants and their indexes on all nodes; 0 unless Citus has distributed them. */
export async function bytesOnNodes(connection: Queries): Promise<number> {
  if (!(await isCitusInstalled(connection))) return 0;
  const { rows } = await connection.query<{ bytes: string }>(
    `SELECT citus_total_relation_size(logicalrelid) AS bytes FROM pg_dist_partition
     WHERE logicalrelid = to_regclass('plants')`,
  );
  return Number(rows[0]?.bytes ?? 0);
}

class CitusQueues extends NodeQueues {
  readonly #coordinator: Coordinator;
  readonly #emit: Emit;
  readonly #timer: Timer;
  #reading: Promise<void> | undefined;
  #isClosed = false;

  constructor(coordinator: Coordinator, map: ShardMap, limits: GroupCommitLimits, context: QueueContext) {
    super(limits, context);
    this.#coordinator = coordinator;
    this.#emit = context.emit;
    this.#use(map);
    this.#timer = setInterval(() => this.#refresh(), readMapMs);
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#reading;
    await super.close();
  }

  #use(map: ShardMap): void {
    this.update(
      [...map.nodes.keys()],
      (id) => map.nodeOf(id as bigint),
      (name) => this.#open(name, map),
    );
  }

  #open(name: string, map: ShardMap): CitusNode {
    const { url, primary, collection, onUnavailable } = this.#coordinator;
    const { host, port } = map.nodes.get(name) as Shard;
    return new CitusNode({
      url: { ...url, hosts: url.hosts.slice(0, 1).map((first) => ({ ...first, host, port })) },
      coordinator: primary,
      collection,
      onUnavailable: (reason) => onUnavailable(`${name}: ${reason}`),
      onOutdated: () => this.#refresh(),
    });
  }

  /** Reads the shard map again. The map in use stays if there is none, or no coordinator. */
  #refresh(): void {
    if (this.#isClosed) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
  }

  async #read(): Promise<void> {
    try {
      const map = await this.#coordinator.primary.once(ShardMap.read);
      if (map !== undefined && !this.#isClosed) this.#use(map);
    } catch (error) {
      // Nobody awaits a refresh.
      if (classifyError(error) === "internalError")
        this.#emit({ kind: "internalError", requestId: "citus", error });
      else
        this.#emit({
          kind: "storeTaskFailed",
          reason: `the shard map cannot be read: ${errorReason(error)}`,
        });
    }
  }
}
