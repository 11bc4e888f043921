// Plants in: entries in batches to the store, and each refusal handed out.

import { setImmediate as scheduleWithSetImmediate } from "node:timers/promises";
import { ApiError } from "../contract/errors.ts";
import { conflictError, type NewPlant } from "../contract/plant.ts";
import type { Outcome, PlantStore } from "../store/plant-store.ts";
import type { ImportRecord } from "./import-record.ts";

export interface RejectedRecord {
  readonly line: number;
  readonly error: ApiError;
  readonly text: string;
}

export interface ImportCounts {
  created: number;
  /** The very same plant was there already. */
  unchanged: number;
  refused: number;
}

export interface ImportOptions {
  /** Called in the order of the lines. */
  readonly onRefusal: (refusal: RejectedRecord) => void;
  /** Called after each batch with the counts so far. */
  readonly onBatch: (counts: Readonly<ImportCounts>) => void;
  /** Ends the import after the batch that is on its way. */
  readonly signal: AbortSignal;
}

/**
 * Large enough that the fsync of a commit is small beside it: 2 million plants go into SQLite in 2.0 s of it by 5,000 and in
 * 1.2 s by 20,000. SQLite holds its lock for some 12 ms then.
 */
const batchPlantsMax = 20_000;

/** The records of a batch, refused ones included, in UTF-16 code units: bounds the memory where they are large. */
const batchCodeUnitsMax = 2 ** 23;

/** How long a store that cannot be written is tried again before the import gives up. */
const retryMsMax = 60_000;
const retryPauseMs = 200;

/** The store could not be written for so long that the import gave up; what was counted is stored. */
export class StoreUnavailable extends Error {}

/**
 * Creates the plants of all entries, and gives the counts, also where the signal ended it early. What is stored already
 * is counted as unchanged, so an import that was broken off may simply be run again. Rejects with StoreUnavailable if
 * the store cannot be written for a minute.
 */
export async function importPlants(
  entries: AsyncIterable<readonly ImportRecord[]>,
  store: Pick<PlantStore, "create">,
  options: ImportOptions,
): Promise<ImportCounts> {
  const committer = new BatchImporter(store, options);
  try {
    for await (const some of entries) {
      for (const entry of some) if (committer.add(entry)) await committer.commit();
      // A file is read without a turn of the event loop, and in none would a signal or a database's answer be heard.
      await scheduleWithSetImmediate();
      if (options.signal.aborted) break;
    }
    if (!options.signal.aborted) await committer.commit();
  } finally {
    await committer.settled();
  }
  return committer.counts;
}

/** Has one batch on its way to the store while the next one is read: where the store waits, reading costs no time. */
class BatchImporter {
  readonly counts: ImportCounts = { created: 0, unchanged: 0, refused: 0 };
  readonly #store: Pick<PlantStore, "create">;
  readonly #options: ImportOptions;
  #batch: ImportRecord[] = [];
  #plants: NewPlant[] = [];
  #units = 0;
  #underWay: Promise<void> = Promise.resolve();

  constructor(store: Pick<PlantStore, "create">, options: ImportOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Whether the batch is full with it. */
  add(entry: ImportRecord): boolean {
    this.#batch.push(entry);
    this.#units += entry.text.length;
    if (!(entry.plant instanceof ApiError)) this.#plants.push(entry.plant);
    return this.#batch.length >= batchPlantsMax || this.#units >= batchCodeUnitsMax;
  }

  /** Sends the batch off once the one before it is committed: two at a time could judge an id in the wrong order. */
  async commit(): Promise<void> {
    await this.#underWay;
    if (this.#options.signal.aborted) return;
    this.#underWay = this.#create(this.#batch, this.#plants);
    this.#batch = [];
    this.#plants = [];
    this.#units = 0;
    // A failure is met by whoever waits next; until then it is not one that nobody handles.
    this.#underWay.catch(() => undefined);
  }

  /** Resolves when nothing is on its way any more; rejects if the last batch failed. */
  settled(): Promise<void> {
    return this.#underWay;
  }

  async #create(batch: readonly ImportRecord[], plants: readonly NewPlant[]): Promise<void> {
    const outcomes = await this.#createAll(plants);
    let next = 0;
    for (const entry of batch) {
      const outcome = entry.plant instanceof ApiError ? "refused" : outcomes[next++];
      if (outcome === "created") this.counts.created++;
      else if (outcome === "unchanged") this.counts.unchanged++;
      else this.#refuse(entry);
    }
    this.#options.onBatch(this.counts);
  }

  #refuse({ line, text, plant }: ImportRecord): void {
    this.counts.refused++;
    const error = plant instanceof ApiError ? plant : conflictError(plant);
    this.#options.onRefusal({ line, error, text });
  }

  /** The outcomes of a batch, none of them `unavailable`: what the store could not commit is tried again. */
  async #createAll(plants: readonly NewPlant[]): Promise<Outcome[]> {
    if (plants.length === 0) return [];
    const deadline = performance.now() + retryMsMax;
    const outcomes = await this.#store.create(plants);
    while (outcomes.includes("unavailable")) {
      const open = [...outcomes.keys()].filter((index) => outcomes[index] === "unavailable");
      if (performance.now() > deadline || this.#options.signal.aborted) throw new StoreUnavailable();
      await Bun.sleep(retryPauseMs);
      const again = await this.#store.create(open.flatMap((index) => plants[index] ?? []));
      for (const [position, index] of open.entries()) outcomes[index] = again[position] ?? "unavailable";
    }
    return outcomes;
  }
}
