// Plants in: each line judged as the API judges a body, created in batches, and each refusal handed out.

import { ContractError } from "../contract/errors.ts";
import { conflictWith, type NewPlant } from "../contract/plant.ts";
import type { Outcome, PlantStore } from "../store/plant-store.ts";

/** One entry of a file: where it stands, how it stands there, and what it holds. */
export interface Entry {
  readonly line: number;
  /** The original text, for the report of a refusal. */
  readonly text: () => string;
  readonly plant: NewPlant | ContractError;
}

export interface Refusal {
  readonly line: number;
  readonly error: ContractError;
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
  readonly onRefusal: (refusal: Refusal) => void;
  /** Called after each batch with the counts so far. */
  readonly onBatch: (counts: Readonly<ImportCounts>) => void;
}

/** Large enough that the fsync of a commit is small beside it; SQLite holds its lock for some 10 ms. */
const batchPlantsMax = 5_000;

/** Names and tags of a batch, in UTF-16 code units: what bounds the memory where plants are large. */
const batchUnitsMax = 2 ** 23;

/** How long a store that cannot be written is tried again before the import gives up. */
const retryMsMax = 60_000;
const retryPauseMs = 200;

/** The store could not be written for so long that the import gave up; what was counted is stored. */
export class StoreUnavailable extends Error {}

/**
 * Creates the plants of all entries. What is stored already is counted as unchanged, so an import that was
 * broken off may simply be run again. Rejects with StoreUnavailable if the store cannot be written for a minute.
 */
export async function importPlants(
  entries: AsyncIterable<Entry>,
  store: Pick<PlantStore, "create">,
  { onRefusal, onBatch }: ImportOptions,
): Promise<ImportCounts> {
  const counts: ImportCounts = { created: 0, unchanged: 0, refused: 0 };
  let batch: Entry[] = [];
  let units = 0;

  const refuse = (entry: Entry, error: ContractError) => {
    counts.refused++;
    onRefusal({ line: entry.line, error, text: entry.text() });
  };
  const commit = async () => {
    const plants = batch.flatMap(({ plant }) => (plant instanceof ContractError ? [] : [plant]));
    const outcomes = (await createAll(plants, store)).values();
    for (const entry of batch) {
      if (entry.plant instanceof ContractError) {
        refuse(entry, entry.plant);
        continue;
      }
      const { value: outcome } = outcomes.next();
      if (outcome === "created") counts.created++;
      else if (outcome === "unchanged") counts.unchanged++;
      else refuse(entry, conflictWith(entry.plant));
    }
    batch = [];
    units = 0;
    onBatch(counts);
  };

  for await (const entry of entries) {
    batch.push(entry);
    if (!(entry.plant instanceof ContractError))
      units += entry.plant.name.length + (entry.plant.tag?.length ?? 0);
    if (batch.length >= batchPlantsMax || units >= batchUnitsMax) await commit();
  }
  await commit();
  return counts;
}

/** The outcomes of a batch, none of them `unavailable`: what the store could not commit is tried again. */
async function createAll(plants: readonly NewPlant[], store: Pick<PlantStore, "create">): Promise<Outcome[]> {
  if (plants.length === 0) return [];
  const deadline = performance.now() + retryMsMax;
  const outcomes = await store.create(plants);
  for (;;) {
    const open = [...outcomes.keys()].filter((index) => outcomes[index] === "unavailable");
    if (open.length === 0) return outcomes;
    if (performance.now() > deadline) throw new StoreUnavailable();
    await Bun.sleep(retryPauseMs);
    const again = await store.create(open.flatMap((index) => plants[index] ?? []));
    for (const [position, index] of open.entries()) outcomes[index] = again[position] ?? "unavailable";
  }
}
