// Imports records into the store, in batches.

import { setImmediate as nextTick } from "node:timers/promises";
import { ApiError } from "../base/errors.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Collection, Plant } from "../contract/contract.ts";
import { conflictError } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { ChosenId, FreeIds } from "../plants/new-ids.ts";
import { errorOfOutcome } from "../plants/pending-create.ts";
import type { NewEntry, Outcome, PlantStore } from "../store/plant-store.ts";
import type { TokenStore } from "../store/shared/sql-tokens.ts";
import type { Replacement } from "./import-update.ts";
import type { GivenCreation, ImportRecord } from "./record-reader.ts";

export interface RejectedRecord {
  readonly line: number;
  readonly column?: number;
  readonly error: ApiError;
  readonly text: string;
  /** The bytes of a record that is not UTF-8. */
  readonly bytes?: Uint8Array;
}

/** The store of an import, or one that only predicts its outcomes. */
export interface ImportStore extends Pick<PlantStore, "create"> {
  /** The collection of the plants. */
  readonly collection: Collection;
  /** Finds ids for records without one, where the contract allows few. */
  readonly freeIds?: FreeIds | undefined;
}

export interface ImportCounts {
  created: number;
  /** An equal plant was stored already. */
  unchanged: number;
  /** Stored plants that were another before. */
  replaced: number;
  rejected: number;
}

export function newCounts(): ImportCounts {
  return { created: 0, unchanged: 0, replaced: 0, rejected: 0 };
}

interface ImportOptions {
  /** Is added to after each batch. */
  readonly counts: ImportCounts;
  /** Called in the order of the lines. */
  readonly onRejected: (record: RejectedRecord) => void;
  /** Called after each batch. */
  readonly onBatch?: () => void;
  /** Replaces stored plants that differ; without it their records are rejected. */
  readonly replacement?: Replacement | undefined;
  /** Stores the names of creators that records have; absent for a dry run. */
  readonly creators?: Pick<TokenStore, "creatorKeys"> | undefined;
  /** Ends the import after the batch that is in flight. */
  readonly signal: AbortSignal;
}

/** Large enough that fsync is a small part of a commit; a server waits for one at most. */
const batchPlantsMax = 20_000;

/** The records of a batch, also rejected ones, in UTF-16 code units: bounds the memory. */
const batchCodeUnitsMax = 2 ** 23;

/** How long a batch is retried while the store cannot be written. */
const retryMsMax = 60_000;
const retryPauseMs = 200;

/** The store could not be written for a minute, or until the signal. Counted plants are stored. */
export class StoreUnavailable extends OperatorError {
  constructor() {
    super(
      "the store could not be written for a minute; import the file again when it can: what is already stored is reported as unchanged",
    );
  }
}

/**
 * Creates the plants of all records, or of those before the signal. Plants that are stored already
 * count as unchanged, so an interrupted import can be run again. Rejects with StoreUnavailable if
 * the store cannot be written for a minute, and with the error of `records` after the plants before
 * it are created.
 */
export async function importPlants(
  records: AsyncIterable<readonly ImportRecord[]>,
  store: ImportStore,
  options: ImportOptions,
): Promise<void> {
  const importer = new BatchImporter(store, options);
  try {
    for await (const some of records) {
      for (const record of some) if (importer.add(record)) await importer.commit();
      // Reading a file never yields to the event loop, which delivers signals and responses.
      await nextTick();
      if (options.signal.aborted) break;
    }
  } finally {
    // Runs even if `records` fails. If a batch has failed, this rejects with its error again.
    await importer.commit();
    await importer.settled();
  }
}

/** Keeps one batch in flight while the next one is read. */
class BatchImporter {
  readonly #store: ImportStore;
  readonly #options: ImportOptions;
  /** The keys of creators, by their names. */
  readonly #creatorKeys = new Map<string, number>();
  #batch: ImportRecord[] = [];
  #codeUnits = 0;
  #inFlight: Promise<void> = Promise.resolve();

  constructor(store: ImportStore, options: ImportOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Returns whether the batch is full. */
  add(record: ImportRecord): boolean {
    this.#batch.push(record);
    this.#codeUnits += record.text.length;
    return this.#batch.length >= batchPlantsMax || this.#codeUnits >= batchCodeUnitsMax;
  }

  /** Starts the batch when the previous one is committed: the first plant of an id must win. */
  async commit(): Promise<void> {
    await this.#inFlight;
    if (this.#options.signal.aborted) return;
    this.#inFlight = this.#create(this.#batch);
    this.#batch = [];
    this.#codeUnits = 0;
    // The next commit or settled call rejects with a failure, which is handled until then.
    this.#inFlight.catch(() => undefined);
  }

  /** Resolves when no batch is in flight; rejects if the last one failed. */
  settled(): Promise<void> {
    return this.#inFlight;
  }

  async #create(batch: readonly ImportRecord[]): Promise<void> {
    const outcomes: (Outcome | "replaced")[] = await this.#createAll(batch);
    const { replacement, counts } = this.#options;
    if (outcomes.includes("conflict")) await replacement?.replaceConflicts(batch, outcomes);
    let next = 0;
    for (const record of batch) {
      const outcome = record.plant instanceof ApiError ? "invalid" : outcomes[next++];
      if (outcome === "created") counts.created++;
      else if (outcome === "unchanged") counts.unchanged++;
      else if (outcome === "replaced") counts.replaced++;
      else this.#reject(record, outcome);
    }
    this.#options.onBatch?.();
  }

  #reject({ plant, chosen, ...record }: ImportRecord, outcome: Outcome | "invalid" | undefined): void {
    this.#options.counts.rejected++;
    const error = plant instanceof ApiError ? plant : this.#errorOf(plant, chosen, outcome);
    this.#options.onRejected({ ...record, error });
  }

  #errorOf(plant: Plant, chosen: ChosenId | undefined, outcome: Outcome | "invalid" | undefined): ApiError {
    const { collection } = this.#store;
    if (outcome === "taken" || outcome === "tooLarge") return errorOfOutcome(outcome, collection, plant);
    if (chosen === undefined) return conflictError(collection, plant);
    const { one } = collection.words;
    return new ApiError(
      "conflict",
      `An import with this key has created another ${one} from the record with this number, which is unchanged; import another file with another --key.`,
    );
  }

  /** Creates the plants of the valid records, and retries those that are `unavailable`. */
  async #createAll(batch: readonly ImportRecord[]): Promise<Outcome[]> {
    const { create, freeIds } = this.#store;
    await this.#storeCreators(batch);
    const deadline = performance.now() + retryMsMax;
    const pending = batch
      .flatMap(({ plant, chosen, creation }) =>
        plant instanceof ApiError ? [] : [{ chosen, entry: this.#entryOf(plant, chosen, creation) }],
      )
      .map((each, index) => ({ ...each, index }));
    const outcomes: Outcome[] = [];
    let rest = pending;
    // Searched for once: the ids of all records have run out then.
    let hasRunOut = false;
    while (rest.length > 0) {
      const created = await create(rest.map(({ entry }) => entry));
      const next: typeof pending = [];
      for (const [place, each] of rest.entries()) {
        const outcome = created[place] ?? "unavailable";
        outcomes[each.index] = outcome;
        if (outcome === "unavailable") next.push(each);
        if (outcome !== "taken") continue;
        const id: PlantId | undefined = hasRunOut ? undefined : await each.chosen?.another(freeIds);
        hasRunOut ||= id === undefined;
        if (id === undefined) continue;
        next.push({ ...each, entry: { ...each.entry, plant: { ...each.entry.plant, id } } });
      }
      if (created.includes("unavailable")) {
        if (performance.now() > deadline || this.#options.signal.aborted) throw new StoreUnavailable();
        await Bun.sleep(retryPauseMs);
      }
      rest = next;
    }
    return outcomes;
  }

  /** Stores the names of a batch that no batch before it had. */
  async #storeCreators(batch: readonly ImportRecord[]): Promise<void> {
    const names = new Set(batch.flatMap(({ creation }) => creation?.creatorName ?? []));
    const unknown = [...names].filter((name) => !this.#creatorKeys.has(name));
    const keys = unknown.length === 0 ? [] : await this.#options.creators?.creatorKeys(unknown);
    for (const [index, key] of (keys ?? []).entries()) this.#creatorKeys.set(unknown[index] as string, key);
  }

  #entryOf(plant: Plant, chosen: ChosenId | undefined, creation: GivenCreation | undefined): NewEntry {
    const entry = { collection: this.#store.collection, plant, creator: null, key: chosen?.key };
    if (creation === undefined) return entry;
    const { createdAt, creatorName } = creation;
    const creator = creatorName === null ? undefined : this.#creatorKeys.get(creatorName);
    return { ...entry, creator: creator ?? null, createdAt };
  }
}
