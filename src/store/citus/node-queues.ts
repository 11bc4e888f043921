// The queues of a store that commits on several nodes: a group commit for each node, behind the
// interface of one. Nothing in a node's queue waits for another node.

import { errorMessage } from "../../base/operator-error.ts";
import type { Collection } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import {
  type CreateQueue,
  GroupCommit,
  type GroupCommitLimits,
  type PendingCreate,
  type QueueContext,
  type StoreNode,
} from "../group-commit.ts";
import type { PlantStore } from "../plant-store.ts";

/** The plants of one node, which responds at once while it is down: its queue is never full. */
export interface NodeStore extends StoreNode, Pick<PlantStore, "create" | "assertWritable"> {
  /** Called when no more batches come. */
  close(): Promise<void>;
}

/** Returns the name of the node that has a plant. */
type NameOf = (collection: Collection, id: PlantId) => string;

interface NodeQueue {
  readonly node: NodeStore;
  readonly queue: GroupCommit;
}

export class NodeQueues implements CreateQueue {
  readonly #limits: GroupCommitLimits;
  readonly #context: QueueContext;
  readonly #queues = new Map<string, NodeQueue>();
  /** Queues of nodes that are gone, until they are empty and closed. */
  readonly #retired = new Map<NodeQueue, Promise<void>>();
  #nameOf: NameOf = () => "";

  /** @param limits `queuePlantsMax` is divided equally among the nodes. */
  constructor(limits: GroupCommitLimits, context: QueueContext) {
    const nodes = () => Math.max(1, this.#queues.size);
    this.#limits = {
      ...limits,
      get queuePlantsMax() {
        return Math.max(1, Math.floor(limits.queuePlantsMax / nodes()));
      },
    };
    this.#context = context;
  }

  /**
   * Follows a change of the cluster. Plants that are queued for a node that is gone are still
   * committed by it.
   *
   * @param nodes opens each node, of which there is at least one, by its name.
   * @param nameOf the name of the node of a plant, one of them.
   */
  update(nodes: ReadonlyMap<string, () => NodeStore>, nameOf: NameOf): void {
    for (const [name, nodeQueue] of this.#queues) {
      if (nodes.has(name)) continue;
      this.#queues.delete(name);
      const drained = drain(nodeQueue).finally(() => this.#retired.delete(nodeQueue));
      this.#retired.set(nodeQueue, drained);
    }
    for (const [name, open] of nodes) {
      if (this.#queues.has(name)) continue;
      const node = open();
      this.#queues.set(name, { node, queue: new GroupCommit(node, this.#limits, this.#context) });
    }
    this.#nameOf = nameOf;
  }

  create(pending: PendingCreate): void {
    this.#queueOf(pending.collection, pending.plant.id).queue.create(pending);
  }

  nodeOf(collection: Collection, id: PlantId): StoreNode {
    return this.#queueOf(collection, id).node;
  }

  #queueOf(collection: Collection, id: PlantId): NodeQueue {
    const name = this.#nameOf(collection, id);
    const nodeQueue = this.#queues.get(name);
    if (nodeQueue === undefined) throw new Error(`The plant ${id} belongs to no node: ${name}`);
    return nodeQueue;
  }

  isFullFor(callerKey: string): boolean {
    for (const { queue } of this.#queues.values()) if (!queue.isFullFor(callerKey)) return false;
    return true;
  }

  /** A server is ready while one node commits: all have the same nodes, so none would be left. */
  async assertReady(): Promise<readonly string[]> {
    const checked = await Promise.all(
      [...this.#queues].map(([name, { queue }]) =>
        queue.assertReady().then(
          () => undefined,
          (error) => `${name} cannot commit: ${errorMessage(error)}`,
        ),
      ),
    );
    const failures = checked.filter((failure) => failure !== undefined);
    if (failures.length === checked.length) throw new Error(failures.join("; "));
    return failures;
  }

  get queuedPlants(): number {
    const all = [...this.#queues.values(), ...this.#retired.keys()];
    return all.reduce((sum, { queue }) => sum + queue.queuedPlants, 0);
  }

  get nodesUp(): ReadonlyMap<string, boolean> {
    return new Map([...this.#queues].map(([name, { node }]) => [name, node.isUp]));
  }

  async close(): Promise<void> {
    await Promise.all([...[...this.#queues.values()].map(drain), ...this.#retired.values()]);
  }
}

async function drain({ node, queue }: NodeQueue): Promise<void> {
  await queue.close();
  await node.close();
}
