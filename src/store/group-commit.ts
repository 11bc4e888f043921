// Commits creates in batches: those that arrive while one is being committed form the next, so the
// duration of a commit determines the size of the batches. A timer only ends the wait of a batch
// that is held back, see #holdBack.

import type { Clock, Emit } from "../base/server-event.ts";
import { type Collection, countCodeUnits } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { SharedBudget } from "./fair-share.ts";
import type { NewEntry, Outcome, PlantStore } from "./plant-store.ts";

/** The outcome of a create; `overloaded` and `closed` plants were not passed to the engine. */
export type CreateOutcome = Outcome | "overloaded" | "closed";

/** A create that waits for its outcome: `settle` or `fail` is called once. They never throw. */
export interface PendingCreate extends NewEntry {
  /** Identifies the caller, who may fill only a share of the queue. */
  readonly callerKey: string;
  /** @param createdAt the time that the engine got with the batch; undefined if it got none. */
  settle(outcome: CreateOutcome, createdAt?: number): void;
  /** Called with the exception of an engine that failed. */
  fail(error: unknown): void;
}

/** A node of a cluster. */
export interface StoreNode {
  readonly name: string;
  /** Whether it responds. */
  readonly isUp: boolean;
  /** Aborted, with an OperatorError, when it no longer responds; another one once it does again. */
  readonly down?: AbortSignal | undefined;
}

/** The queue in which creates wait for their commit. */
export interface CreateQueue {
  /** Queues a create, or settles it at once. Equal ids are committed in the order of the queue. */
  create(pending: PendingCreate): void;

  /** Whether another plant of a caller would be `overloaded`, asked before a body is read. */
  isFullFor(callerKey: string): boolean;

  /**
   * Rejects with the reason if nothing can be committed now. Resolves with a line for each part of
   * the store that cannot commit while others can.
   */
  assertReady(): Promise<readonly string[]>;

  readonly queuedPlants: number;

  /** Whether each node of a cluster commits plants, by its name; undefined elsewhere. */
  readonly nodesUp?: ReadonlyMap<string, boolean>;

  /** The node of a cluster that has the plant of an id, the same object each time; undefined elsewhere. */
  nodeOf?(collection: Collection, id: PlantId): StoreNode;

  /** Accepts no more plants; resolves when every accepted plant is settled. May be called again. */
  close(): Promise<void>;
}

export interface QueueLimits {
  /**
   * Plants in the queue, where a long one counts as several; a plant past it, or past its caller's
   * share of it, is `overloaded`.
   */
  readonly queuePlantsMax: number;
  /** Plants in one batch. */
  readonly batchPlantsMax: number;
}

export interface GroupCommitLimits extends QueueLimits {
  /** Batches that the engine commits concurrently. */
  readonly batchesInFlightMax: number;
}

/** The clock and the events that a queue needs. */
export interface QueueContext {
  readonly now: Clock;
  readonly emit: Emit;
  /** Calls `start`, which starts a batch, now or soon; at the end of the tick by default. */
  readonly schedule?: (start: () => void) => void;
}

/** A plant with long texts counts as one more for each 4,096 UTF-16 code units, to limit memory. */
const codeUnitsPerPlant = 4_096;

/** How long a small batch waits while another one commits. */
const holdMsMax = 20;

export class GroupCommit implements CreateQueue {
  readonly #store: Pick<PlantStore, "create" | "assertWritable">;
  readonly #limits: GroupCommitLimits;
  readonly #context: QueueContext;
  readonly #schedule: (start: () => void) => void;
  #queue: PendingCreate[] = [];
  /** The sizes of the queued plants, see sizeOf. */
  readonly #sizes: SharedBudget;
  #batchesInFlight = 0;
  /** 0 before the first batch. */
  #lastBatchLength = 0;
  /** Runs while a batch is held back. */
  #holdTimer: Timer | undefined;
  #isScheduled = false;
  #isClosed = false;
  readonly #idle = Promise.withResolvers<void>();

  /** @param limits read at each use, so they may change while the queue is in use. */
  constructor(
    store: Pick<PlantStore, "create" | "assertWritable">,
    limits: GroupCommitLimits,
    context: QueueContext,
  ) {
    this.#store = store;
    this.#limits = limits;
    this.#sizes = new SharedBudget(() => limits.queuePlantsMax);
    this.#context = context;
    // Puts all requests of one poll of the sockets into one batch, not only the first of them. This
    // is not a timer: an idle event loop ends its tick at once.
    this.#schedule = context.schedule ?? setImmediate;
  }

  get queuedPlants(): number {
    return this.#queue.length;
  }

  isFullFor(callerKey: string): boolean {
    return !this.#sizes.allows(callerKey, 1);
  }

  create(pending: PendingCreate): void {
    if (this.#isClosed) pending.settle("closed");
    else if (!this.#sizes.acquire(pending.callerKey, sizeOf(pending))) pending.settle("overloaded");
    else {
      this.#queue.push(pending);
      if (this.#isLoneClient()) this.#commitQueue();
      else this.#scheduleCommit();
    }
  }

  async assertReady(): Promise<readonly string[]> {
    await this.#store.assertWritable();
    return [];
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#resolveIfIdle();
    return this.#idle.promise;
  }

  /**
   * Whether the plant in the queue is that of a client which creates one after the other: then its
   * batch need not wait for the end of the tick: 1.16 times the creates at one connection, for 0.89
   * of the processor time (10 interleaved rounds). If there are other clients after all, they form
   * the next batch, which is longer than one.
   */
  #isLoneClient(): boolean {
    return this.#lastBatchLength === 1 && this.#batchesInFlight === 0 && this.#queue.length === 1;
  }

  #scheduleCommit(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.#commitQueue();
    });
  }

  #commitQueue(): void {
    while (this.#queue.length > 0 && this.#batchesInFlight < this.#limits.batchesInFlightMax) {
      if (this.#batchesInFlight > 0 && this.#queue.length < this.#lastBatchLength) {
        this.#holdBack();
        return;
      }
      void this.#commit(this.#dequeueBatch());
    }
  }

  /**
   * Holds a batch back beside another one until it is as large as the last: on PostgreSQL, with two
   * in flight, 1.2 times the creates at 64 connections and 1.04 at 256, for 0.8 and 0.9 of the
   * processor time. The time is limited, because the other one may wait for a lock while no
   * further create arrives. SQLite, with one batch in flight, never holds one back.
   */
  #holdBack(): void {
    this.#holdTimer ??= setTimeout(() => {
      // Every other batch that starts ends the wait, so this one is still queued.
      void this.#commit(this.#dequeueBatch());
      this.#commitQueue();
    }, holdMsMax);
  }

  #dequeueBatch(): PendingCreate[] {
    if (this.#queue.length <= this.#limits.batchPlantsMax) {
      const batch = this.#queue;
      this.#queue = [];
      this.#sizes.clear();
      return batch;
    }
    const batch = this.#queue.splice(0, this.#limits.batchPlantsMax);
    for (const pending of batch) this.#sizes.release(pending.callerKey, sizeOf(pending));
    return batch;
  }

  async #commit(batch: readonly PendingCreate[]): Promise<void> {
    this.#lastBatchLength = batch.length;
    clearTimeout(this.#holdTimer);
    this.#holdTimer = undefined;
    const startedAt = this.#context.now();
    // Chosen here, so that the response to a create need not read it from the store.
    const createdAt = Date.now();
    this.#batchesInFlight++;
    try {
      // The next batch starts before the responses to this one are sent: 1.03 times the creates at
      // 64 connections, for 0.94 of the processor time (12 interleaved rounds).
      const outcomes = await this.#store.create(batch, createdAt).finally(() => {
        this.#batchesInFlight--;
        this.#commitQueue();
      });
      if (outcomes.length !== batch.length)
        throw new Error(`The engine returned ${outcomes.length} outcomes for ${batch.length} plants`);
      if (outcomes.some((outcome) => outcome !== "unavailable")) {
        const endedAt = this.#context.now();
        this.#context.emit({ kind: "batchCommitted", plants: batch.length, startedAt, endedAt });
      }
      for (let index = 0; index < batch.length; index++)
        (batch[index] as PendingCreate).settle(outcomes[index] as Outcome, createdAt);
    } catch (error) {
      for (const pending of batch) pending.fail(error);
    }
    this.#resolveIfIdle();
  }

  #resolveIfIdle(): void {
    if (this.#isClosed && this.#batchesInFlight === 0 && this.#queue.length === 0) this.#idle.resolve();
  }
}

/** How many plants one counts as. */
function sizeOf({ collection, plant }: PendingCreate): number {
  return 1 + Math.floor(countCodeUnits(collection, plant.values) / codeUnitsPerPlant);
}

/** A store as a server uses it. */
export interface ServerStore extends PlantStore {
  /**
   * Opens the queue of creates, if one group commit for the whole store would not do; resolves with
   * undefined if it does. Close it before the store.
   */
  openQueue?(limits: QueueLimits, context: QueueContext): Promise<CreateQueue | undefined>;
}
