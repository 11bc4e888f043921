// Group commit: creates that arrive while a batch is being committed form the next batch, so the duration of a commit
// determines the size of the batches. There is no timer, and no waiting for more. Each lane of a store has a queue and batches
// of its own. Independent of the engine.

import { countCodeUnits, type NewPlant } from "../contract/plant.ts";
import type { Clock } from "../observability/server-event.ts";
import { isWithinShare } from "./fair-share.ts";
import { type Outcome, type PlantStore, recordedToken, type StoreLanes } from "./plant-store.ts";

/** The outcome of a create; `overloaded` and `closed` mean that the plant was not passed to the engine. */
export type CreateOutcome = Outcome | "overloaded" | "closed";

export interface GroupCommitLimits {
  /** Plants in the queue; a plant past it, or past its caller's share of it, is `overloaded`. The lanes of a store divide it equally. */
  readonly queuePlantsMax: number;
  /** UTF-16 code units of names and tags in the queue; once they are reached, a plant is `overloaded`. The lanes divide it equally. */
  readonly queueCodeUnitsMax: number;
  /** Plants in one batch. */
  readonly batchPlantsMax: number;
  /** Batches that the engine commits concurrently, in each lane. */
  readonly batchesInFlightMax: number;
}

/** Calls `start` now or soon. */
export type Schedule = (start: () => void) => void;

/** A batch that the engine has finished. Times are those of Clock. */
export interface FinishedBatch {
  readonly plants: readonly NewPlant[];
  /** In the order of the plants; undefined if the engine failed with an exception. */
  readonly outcomes: readonly Outcome[] | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Undefined if the store has no lanes. */
  readonly lane: string | undefined;
}

/** Where the outcome of a create goes: one of its methods is called, once, and must not throw. A promise for each create took 0.4 µs more. */
export interface CreateListener {
  resolve(outcome: CreateOutcome): void;
  /** The engine failed on the batch with an exception. */
  reject(error: unknown): void;
}

export interface CommitHook {
  readonly now: Clock;
  /** Called once after each batch, before any of its creates resolves. Must not throw. */
  readonly afterBatch: (batch: FinishedBatch) => void;
}

/** `recordsTokens` may be absent where they are not to be recorded. */
type BatchStore = Pick<PlantStore, "create" | "lanes"> & Partial<Pick<PlantStore, "recordsTokens">>;

export class GroupCommit {
  readonly #lanes: StoreLanes | undefined;
  readonly #createQueue: (lane: string | undefined) => LaneQueue;
  /** Of a store without lanes. */
  readonly #single: LaneQueue;
  /** By lane; also of lanes that the store no longer has, until they are empty. */
  readonly #queues = new Map<string, LaneQueue>();
  #isClosed = false;
  #idle: PromiseWithResolvers<void> | undefined;

  /** @param schedule when a batch starts that could start now; see scheduleWithSetImmediate. */
  constructor(store: BatchStore, limits: GroupCommitLimits, schedule: Schedule, hook?: CommitHook) {
    assertLimits(limits);
    const onIdle = () => this.#resolveIfIdle();
    this.#createQueue = (lane) => new LaneQueue(store, lane, limits, { schedule, hook, onIdle });
    this.#lanes = store.lanes;
    this.#single = this.#createQueue(undefined);
    this.#lanes?.subscribe(() => this.#updateLanes());
    this.#updateLanes();
  }

  /** The number of plants in the queue of each lane; one without a name if the store has no lanes. */
  get queueLengths(): readonly (readonly [lane: string | undefined, plants: number])[] {
    if (this.#lanes === undefined) return [[undefined, this.#single.length]];
    return [...this.#queues].map(([lane, { length }]) => [lane, length]);
  }

  /** The number of plants in the queue. */
  get queueLength(): number {
    return this.queueLengths.reduce((sum, [, plants]) => sum + plants, 0);
  }

  /**
   * Whether another plant of a caller would be `overloaded` now, whatever its lane, as the queue or the caller's share of it is
   * full. Checked before a body is read, so that a rejection is cheap.
   */
  isFullFor(caller: string): boolean {
    if (this.#lanes === undefined) return this.#single.refusal(caller) !== undefined;
    // A lane that is down is not full: its plants are refused by another error.
    for (const queue of this.#queues.values()) if (queue.refusal(caller) !== "overloaded") return false;
    return true;
  }

  /**
   * Creates a plant; resolves the listener with the outcome after its batch is committed. Of plants with equal ids, the one
   * created first is committed first. A plant whose lane is down is `unavailable` at once: waiting would only tie up its client.
   *
   * @param token the name of the caller's token, which the store may record.
   */
  create(plant: NewPlant, caller: string, listener: CreateListener, token: string = caller): void {
    const queue = this.#lanes === undefined ? this.#single : this.#queueOf(this.#lanes.laneOf(plant.id));
    const refusal = this.#isClosed ? "closed" : queue.refusal(caller);
    if (refusal === undefined) queue.add(plant, caller, listener, token);
    else listener.resolve(refusal);
  }

  /** Accepts no more plants; resolves when every accepted plant has its outcome. May be called again. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#idle ??= Promise.withResolvers<void>();
    this.#resolveIfIdle();
    return this.#idle.promise;
  }

  #queueOf(lane: string): LaneQueue {
    let queue = this.#queues.get(lane);
    if (queue === undefined) {
      queue = this.#createQueue(lane);
      this.#queues.set(lane, queue);
    }
    return queue;
  }

  /** Follows the lanes of the store: their number divides the limits, and a lane that is down has no queue. */
  #updateLanes(): void {
    if (this.#lanes === undefined) return;
    const names = this.#lanes.names();
    for (const lane of names) this.#queueOf(lane);
    for (const [lane, queue] of this.#queues) {
      queue.update(names.length, this.#lanes.downReason(lane) !== undefined);
      if (!names.includes(lane) && queue.isIdle) this.#queues.delete(lane);
    }
  }

  #resolveIfIdle(): void {
    if (this.#isClosed && this.#single.isIdle && [...this.#queues.values()].every(({ isIdle }) => isIdle))
      this.#idle?.resolve();
  }
}

interface QueueDependencies {
  readonly schedule: Schedule;
  readonly hook: CommitHook | undefined;
  /** Called after a batch, if none is left in the queue or in flight. */
  readonly onIdle: () => void;
}

/** The queue of one lane, and its batches in flight: nothing in it waits for another lane. */
class LaneQueue {
  readonly #store: BatchStore;
  readonly #lane: string | undefined;
  readonly #limits: GroupCommitLimits;
  readonly #schedule: Schedule;
  readonly #hook: CommitHook | undefined;
  readonly #onIdle: () => void;
  #isDown = false;
  #plantsMax: number;
  #codeUnitsMax: number;
  #queue: QueuedCreate[] = [];
  #queueCodeUnits = 0;
  /** By caller; only callers with plants in the queue. */
  #shares = new Map<string, Share>();
  #batchesInFlight = 0;
  /** Plants of the batch that was started last. */
  #lastBatchLength = Number.POSITIVE_INFINITY;
  #isScheduled = false;

  constructor(
    store: BatchStore,
    lane: string | undefined,
    limits: GroupCommitLimits,
    { schedule, hook, onIdle }: QueueDependencies,
  ) {
    this.#store = store;
    this.#lane = lane;
    this.#limits = limits;
    this.#schedule = schedule;
    this.#hook = hook;
    this.#onIdle = onIdle;
    this.#plantsMax = limits.queuePlantsMax;
    this.#codeUnitsMax = limits.queueCodeUnitsMax;
  }

  get length(): number {
    return this.#queue.length;
  }

  get isIdle(): boolean {
    return this.#batchesInFlight === 0 && this.#queue.length === 0;
  }

  /** Limits the queue to one of `lanes` equal parts of the limits. If the lane is down, all plants in the queue are `unavailable`. */
  update(lanes: number, isDown: boolean): void {
    this.#isDown = isDown;
    this.#plantsMax = Math.max(1, Math.floor(this.#limits.queuePlantsMax / lanes));
    this.#codeUnitsMax = Math.max(1, Math.floor(this.#limits.queueCodeUnitsMax / lanes));
    // Those in flight have their outcomes from the engine.
    if (isDown) for (const { listener } of this.#dequeueAll()) listener.resolve("unavailable");
    if (this.isIdle) this.#onIdle();
  }

  /** Why another plant of a caller would be refused now. */
  refusal(caller: string): "overloaded" | "unavailable" | undefined {
    if (this.#isDown) return "unavailable";
    return this.#isFullFor(caller) ? "overloaded" : undefined;
  }

  add(plant: NewPlant, caller: string, listener: CreateListener, token: string): void {
    const codeUnits = countCodeUnits(plant);
    const share = this.#getShare(caller, token);
    share.plants++;
    share.codeUnits += codeUnits;
    this.#queue.push({ plant, share, listener });
    this.#queueCodeUnits += codeUnits;
    if (this.#isLoneClient()) this.#commitQueue();
    else this.#scheduleCommit();
  }

  #isFullFor(caller: string): boolean {
    const freePlants = this.#plantsMax - this.#queue.length;
    const freeCodeUnits = this.#codeUnitsMax - this.#queueCodeUnits;
    if (freePlants <= 0 || freeCodeUnits <= 0) return true;
    const share = this.#shares.get(caller);
    if (share === undefined) return false;
    return !isWithinShare(share.plants + 1, freePlants - 1) || !isWithinShare(share.codeUnits, freeCodeUnits);
  }

  #getShare(caller: string, token: string): Share {
    let share = this.#shares.get(caller);
    if (share === undefined) {
      share = { caller, token, plants: 0, codeUnits: 0 };
      this.#shares.set(caller, share);
    }
    return share;
  }

  /**
   * Whether the plant in the queue is that of a client which creates one after the other: then its batch need not wait for
   * the end of the tick. If there are other clients after all, they form the next batch, which is longer than one.
   */
  #isLoneClient(): boolean {
    return this.#lastBatchLength === 1 && this.#batchesInFlight === 0 && this.#queue.length === 1;
  }

  #scheduleCommit(): void {
    if (this.#isScheduled || this.#queue.length === 0) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.#commitQueue();
    });
  }

  #commitQueue(): void {
    while (this.#queue.length > 0 && this.#batchesInFlight < this.#limits.batchesInFlightMax) {
      void this.#commit(this.#dequeueBatch());
    }
  }

  #dequeueBatch(): QueuedCreate[] {
    if (this.#queue.length <= this.#limits.batchPlantsMax) return this.#dequeueAll();
    const batch = this.#queue.splice(0, this.#limits.batchPlantsMax);
    for (const { plant, share } of batch) this.#releaseShare(share, countCodeUnits(plant));
    return batch;
  }

  #dequeueAll(): QueuedCreate[] {
    const queue = this.#queue;
    this.#queue = [];
    this.#queueCodeUnits = 0;
    this.#shares.clear();
    return queue;
  }

  #releaseShare(share: Share, codeUnits: number): void {
    this.#queueCodeUnits -= codeUnits;
    share.plants--;
    share.codeUnits -= codeUnits;
    if (share.plants === 0) this.#shares.delete(share.caller);
  }

  async #commit(batch: QueuedCreate[]): Promise<void> {
    this.#batchesInFlight++;
    this.#lastBatchLength = batch.length;
    const plants = batch.map(({ plant }) => plant);
    const startedAt = this.#hook?.now() ?? 0;
    let outcomes: readonly Outcome[] | undefined;
    let failure: unknown;
    try {
      const tokens = this.#store.recordsTokens
        ? batch.map(({ share }) => recordedToken(share.token))
        : undefined;
      outcomes = await this.#store.create(plants, tokens, this.#lane);
    } catch (error) {
      failure = error;
    }
    const lane = this.#lane;
    this.#hook?.afterBatch({ plants, outcomes, startedAt, endedAt: this.#hook.now(), lane });
    batch.forEach(({ listener }, index) => {
      const outcome = outcomes?.[index];
      if (outcome !== undefined) listener.resolve(outcome);
      else if (outcomes === undefined) listener.reject(failure);
      else
        listener.reject(
          new Error(`The engine returned ${outcomes.length} outcomes for ${batch.length} plants`),
        );
    });
    this.#batchesInFlight--;
    this.#scheduleCommit();
    if (this.isIdle) this.#onIdle();
  }
}

/**
 * Starts a batch at the end of the tick of the event loop, so that all requests of one poll of the sockets are one batch,
 * and not the first of them alone. It is not a timer: an idle event loop ends its tick at once.
 */
export const scheduleWithSetImmediate: Schedule = (start) => {
  setImmediate(start);
};

/** A caller's part of the queue. */
interface Share {
  readonly caller: string;
  readonly token: string;
  plants: number;
  codeUnits: number;
}

interface QueuedCreate {
  readonly plant: NewPlant;
  readonly share: Share;
  readonly listener: CreateListener;
}

function assertLimits(limits: GroupCommitLimits): void {
  for (const [name, limit] of Object.entries(limits)) {
    if (!(Number.isInteger(limit) && limit > 0))
      throw new RangeError(`${name} must be a positive integer, is ${limit}`);
  }
}
