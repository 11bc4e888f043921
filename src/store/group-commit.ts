// Many requests, one commit. Requests that arrive while a batch is on its way to the disk form the next batch:
// the disk sets the pace, and there is no timer and no waiting for more. Knows no engine.

import type { NewPlant } from "../contract/plant.ts";
import type { Outcome, PlantStore } from "./plant-store.ts";

/** What became of one plant that was handed in; `overloaded` and `closed` mean that no engine ever saw it. */
export type CreateOutcome = Outcome | "overloaded" | "closed";

export interface GroupCommitLimits {
  /** Plants that may wait for a commit; one more is `overloaded`. */
  readonly queuePlantsMax: number;
  /** UTF-16 code units of names and tags that may wait for a commit; what comes once they are reached is `overloaded`. */
  readonly queueUnitsMax: number;
  /** Plants in one batch at the most. */
  readonly batchPlantsMax: number;
  /** Batches that the engine commits at a time. */
  readonly batchesInFlightMax: number;
}

/** Starts what it is given, now or soon. */
export type Pace = (start: () => void) => void;

export class GroupCommit {
  readonly #pace: Pace;
  #startIsDue = false;
  readonly #store: Pick<PlantStore, "create">;
  readonly #limits: GroupCommitLimits;
  #waiting: Waiting[] = [];
  #waitingUnits = 0;
  #batchesInFlight = 0;
  #closed = false;
  #idle: PromiseWithResolvers<void> | undefined;

  /** @param pace when a batch starts that could start now; see endOfTurn. */
  constructor(store: Pick<PlantStore, "create">, limits: GroupCommitLimits, pace: Pace) {
    assertLimits(limits);
    this.#store = store;
    this.#limits = limits;
    this.#pace = pace;
  }

  /** Plants that wait for a batch. */
  get waitingPlants(): number {
    return this.#waiting.length;
  }

  /** Whether one more plant would be `overloaded` now: for a look ahead of the body, so that a refusal is cheap. */
  get isFull(): boolean {
    return (
      this.#waiting.length >= this.#limits.queuePlantsMax || this.#waitingUnits >= this.#limits.queueUnitsMax
    );
  }

  /**
   * Hands a plant in, and resolves with its own outcome after its batch is committed. Plants are judged in the
   * order in which they are handed in. Rejects only if the engine failed on its batch with an exception.
   */
  create(plant: NewPlant): Promise<CreateOutcome> {
    if (this.#closed) return Promise.resolve("closed");
    if (this.isFull) return Promise.resolve("overloaded");
    return new Promise((resolve, reject) => {
      this.#waiting.push({ plant, resolve, reject });
      this.#waitingUnits += unitsOf(plant);
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

  #takeBatch(): Waiting[] {
    if (this.#waiting.length > this.#limits.batchPlantsMax) {
      const batch = this.#waiting.splice(0, this.#limits.batchPlantsMax);
      for (const { plant } of batch) this.#waitingUnits -= unitsOf(plant);
      return batch;
    }
    const batch = this.#waiting;
    this.#waiting = [];
    this.#waitingUnits = 0;
    return batch;
  }

  async #commit(batch: Waiting[]): Promise<void> {
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
export const endOfTurn: Pace = (start) => {
  setImmediate(start);
};

interface Waiting {
  readonly plant: NewPlant;
  readonly resolve: (outcome: CreateOutcome) => void;
  readonly reject: (error: unknown) => void;
}

function unitsOf({ name, tag }: NewPlant): number {
  return name.length + (tag?.length ?? 0);
}

function assertLimits(limits: GroupCommitLimits): void {
  for (const [name, limit] of Object.entries(limits)) {
    if (!(Number.isInteger(limit) && limit > 0))
      throw new RangeError(`${name} must be a positive integer, is ${limit}`);
  }
}
