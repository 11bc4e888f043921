// Many requests, one commit. Requests that arrive while a batch is on its way to the disk form the next batch:
// the disk sets the pace, and there is no timer and no waiting for more. Knows no engine.

import type { NewPlant } from "../contract/plant.ts";
import { isWithinShare } from "./fair-share.ts";
import type { Outcome, PlantStore } from "./plant-store.ts";

/** What became of one plant that was handed in; `overloaded` and `closed` mean that no engine ever saw it. */
export type CreateOutcome = Outcome | "overloaded" | "closed";

export interface GroupCommitLimits {
  /** Plants that may wait for a commit; one more, or one past its caller's share, is `overloaded`. */
  readonly queuePlantsMax: number;
  /** UTF-16 code units of names and tags that may wait for a commit; what comes once they are reached is `overloaded`. */
  readonly queueCodeUnitsMax: number;
  /** Plants in one batch at the most. */
  readonly batchPlantsMax: number;
  /** Batches that the engine commits at a time. */
  readonly batchesInFlightMax: number;
}

/** Starts what it is given, now or soon. */
export type Schedule = (start: () => void) => void;

export class GroupCommit {
  readonly #pace: Schedule;
  #startIsDue = false;
  readonly #store: Pick<PlantStore, "create">;
  readonly #limits: GroupCommitLimits;
  #waiting: QueuedCreate[] = [];
  #waitingUnits = 0;
  /** By caller; only those of whom something waits. */
  #shares = new Map<string, Share>();
  #batchesInFlight = 0;
  #closed = false;
  #idle: PromiseWithResolvers<void> | undefined;

  /** @param pace when a batch starts that could start now; see scheduleWithSetImmediate. */
  constructor(store: Pick<PlantStore, "create">, limits: GroupCommitLimits, pace: Schedule) {
    assertLimits(limits);
    this.#store = store;
    this.#limits = limits;
    this.#pace = pace;
  }

  /** Plants that wait for a batch. */
  get queueLength(): number {
    return this.#waiting.length;
  }

  /**
   * Whether one more plant of a caller would be `overloaded` now, as the queue is full or its share of the queue is: for
   * a look ahead of the body, so that a refusal is cheap.
   */
  isFullFor(caller: string): boolean {
    const plantsFree = this.#limits.queuePlantsMax - this.#waiting.length;
    const unitsFree = this.#limits.queueCodeUnitsMax - this.#waitingUnits;
    if (plantsFree <= 0 || unitsFree <= 0) return true;
    const share = this.#shares.get(caller);
    if (share === undefined) return false;
    return !isWithinShare(share.plants + 1, plantsFree - 1) || !isWithinShare(share.units, unitsFree);
  }

  /**
   * Hands a caller's plant in, and resolves with its own outcome after its batch is committed. Plants are judged in the
   * order in which they are handed in. Rejects only if the engine failed on its batch with an exception.
   */
  create(plant: NewPlant, caller: string): Promise<CreateOutcome> {
    if (this.#closed) return Promise.resolve("closed");
    if (this.isFullFor(caller)) return Promise.resolve("overloaded");
    return new Promise((resolve, reject) => {
      const units = codeUnitsOf(plant);
      const share = this.#shareOf(caller);
      share.plants++;
      share.units += units;
      this.#waiting.push({ plant, share, resolve, reject });
      this.#waitingUnits += units;
      this.#commitSoon();
    });
  }

  /** Accepts nothing more, and resolves when every plant that was accepted has its outcome. May be called again. */
  close(): Promise<void> {
    this.#closed = true;
    this.#idle ??= Promise.withResolvers<void>();
    this.#settleIdle();
    return this.#idle.promise;
  }

  #shareOf(caller: string): Share {
    let share = this.#shares.get(caller);
    if (share === undefined) {
      share = { caller, plants: 0, units: 0 };
      this.#shares.set(caller, share);
    }
    return share;
  }

  #commitSoon(): void {
    if (this.#startIsDue || this.#waiting.length === 0) return;
    this.#startIsDue = true;
    this.#pace(() => {
      this.#startIsDue = false;
      this.#commitWaiting();
    });
  }

  #commitWaiting(): void {
    while (this.#waiting.length > 0 && this.#batchesInFlight < this.#limits.batchesInFlightMax) {
      void this.#commit(this.#takeBatch());
    }
  }

  #takeBatch(): QueuedCreate[] {
    if (this.#waiting.length > this.#limits.batchPlantsMax) {
      const batch = this.#waiting.splice(0, this.#limits.batchPlantsMax);
      for (const { plant, share } of batch) this.#leave(share, codeUnitsOf(plant));
      return batch;
    }
    const batch = this.#waiting;
    this.#waiting = [];
    this.#waitingUnits = 0;
    this.#shares.clear();
    return batch;
  }

  /** Notes that a plant waits no longer. */
  #leave(share: Share, units: number): void {
    this.#waitingUnits -= units;
    share.plants--;
    share.units -= units;
    if (share.plants === 0) this.#shares.delete(share.caller);
  }

  async #commit(batch: QueuedCreate[]): Promise<void> {
    this.#batchesInFlight++;
    try {
      const outcomes = await this.#store.create(batch.map(({ plant }) => plant));
      batch.forEach(({ resolve, reject }, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined)
          reject(new Error(`The engine gave ${outcomes.length} outcomes for ${batch.length} plants`));
        else resolve(outcome);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#batchesInFlight--;
    this.#commitSoon();
    this.#settleIdle();
  }

  #settleIdle(): void {
    if (this.#batchesInFlight === 0 && this.#waiting.length === 0) this.#idle?.resolve();
  }
}

/**
 * Starts at the end of the event loop's turn, so that what came in with one reading of the sockets leaves as one
 * batch, and not its first plant by itself. No timer: with nothing else to do it starts at once.
 */
export const scheduleWithSetImmediate: Schedule = (start) => {
  setImmediate(start);
};

/** What waits of one caller. */
interface Share {
  readonly caller: string;
  plants: number;
  units: number;
}

interface QueuedCreate {
  readonly plant: NewPlant;
  readonly share: Share;
  readonly resolve: (outcome: CreateOutcome) => void;
  readonly reject: (error: unknown) => void;
}

function codeUnitsOf({ name, tag }: NewPlant): number {
  return name.length + (tag?.length ?? 0);
}

function assertLimits(limits: GroupCommitLimits): void {
  for (const [name, limit] of Object.entries(limits)) {
    if (!(Number.isInteger(limit) && limit > 0))
      throw new RangeError(`${name} must be a positive integer, is ${limit}`);
  }
}
