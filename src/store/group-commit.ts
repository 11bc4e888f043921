// Group commit: creates that arrive while a batch is being committed form the next batch, so the duration of a commit
// determines the size of the batches. There is no timer, and no waiting for more. Independent of the engine.

import { countCodeUnits, type NewPlant } from "../contract/plant.ts";
import type { Clock } from "../observability/server-event.ts";
import { isWithinShare } from "./fair-share.ts";
import { type Outcome, type PlantStore, recordedToken } from "./plant-store.ts";

/** The outcome of a create; `overloaded` and `closed` mean that the plant was not passed to the engine. */
export type CreateOutcome = Outcome | "overloaded" | "closed";

export interface GroupCommitLimits {
  /** Plants in the queue; a plant past it, or past its caller's share of it, is `overloaded`. */
  readonly queuePlantsMax: number;
  /** UTF-16 code units of names and tags in the queue; once they are reached, a plant is `overloaded`. */
  readonly queueCodeUnitsMax: number;
  /** Plants in one batch. */
  readonly batchPlantsMax: number;
  /** Batches that the engine commits concurrently. */
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
type CreatingStore = Pick<PlantStore, "create"> & Partial<Pick<PlantStore, "recordsTokens">>;

export class GroupCommit {
  readonly #store: CreatingStore;
  readonly #limits: GroupCommitLimits;
  readonly #schedule: Schedule;
  readonly #hook: CommitHook | undefined;
  #queue: QueuedCreate[] = [];
  #queueCodeUnits = 0;
  /** By caller; only callers with plants in the queue. */
  #shares = new Map<string, Share>();
  #batchesInFlight = 0;
  /** Plants of the batch that was started last. */
  #lastBatchLength = Number.POSITIVE_INFINITY;
  #isScheduled = false;
  #isClosed = false;
  #idle: PromiseWithResolvers<void> | undefined;

  /** @param schedule when a batch starts that could start now; see scheduleWithSetImmediate. */
  constructor(store: CreatingStore, limits: GroupCommitLimits, schedule: Schedule, hook?: CommitHook) {
    assertLimits(limits);
    this.#store = store;
    this.#limits = limits;
    this.#schedule = schedule;
    this.#hook = hook;
  }

  /** The number of plants in the queue. */
  get queueLength(): number {
    return this.#queue.length;
  }

  /**
   * Whether another plant of a caller would be `overloaded` now, as the queue or the caller's share of it is full. Checked
   * before a body is read, so that a rejection is cheap.
   */
  isFullFor(caller: string): boolean {
    const freePlants = this.#limits.queuePlantsMax - this.#queue.length;
    const freeCodeUnits = this.#limits.queueCodeUnitsMax - this.#queueCodeUnits;
    if (freePlants <= 0 || freeCodeUnits <= 0) return true;
    const share = this.#shares.get(caller);
    if (share === undefined) return false;
    return !isWithinShare(share.plants + 1, freePlants - 1) || !isWithinShare(share.codeUnits, freeCodeUnits);
  }

  /**
   * Creates a plant; resolves the listener with the outcome after its batch is committed. Of plants with equal ids, the one
   * created first is committed first.
   *
   * @param token the name of the caller's token, which the store may record.
   */
  create(plant: NewPlant, caller: string, listener: CreateListener, token: string = caller): void {
    const refusal = this.#isClosed ? "closed" : this.isFullFor(caller) ? "overloaded" : undefined;
    if (refusal !== undefined) {
      listener.resolve(refusal);
      return;
    }
    const codeUnits = countCodeUnits(plant);
    const share = this.#getShare(caller, token);
    share.plants++;
    share.codeUnits += codeUnits;
    this.#queue.push({ plant, share, listener });
    this.#queueCodeUnits += codeUnits;
    if (this.#isLoneClient()) this.#commitQueue();
    else this.#scheduleCommit();
  }

  /** Accepts no more plants; resolves when every accepted plant has its outcome. May be called again. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#idle ??= Promise.withResolvers<void>();
    this.#resolveIfIdle();
    return this.#idle.promise;
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
    if (this.#queue.length > this.#limits.batchPlantsMax) {
      const batch = this.#queue.splice(0, this.#limits.batchPlantsMax);
      for (const { plant, share } of batch) this.#releaseShare(share, countCodeUnits(plant));
      return batch;
    }
    const batch = this.#queue;
    this.#queue = [];
    this.#queueCodeUnits = 0;
    this.#shares.clear();
    return batch;
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
      outcomes = await this.#store.create(plants, tokens);
    } catch (error) {
      failure = error;
    }
    this.#hook?.afterBatch({ plants, outcomes, startedAt, endedAt: this.#hook.now() });
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
    this.#resolveIfIdle();
  }

  #resolveIfIdle(): void {
    if (this.#batchesInFlight === 0 && this.#queue.length === 0) this.#idle?.resolve();
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
