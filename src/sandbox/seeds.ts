// The seeds of a sandbox: plants that it starts with and that a reset brings back, from a file of
// CSV or JSON, or from the examples of the contract.

import { onlyCollection, type Plant } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { conflictError } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import { type PlantStore, toEntries } from "../core/store/plant-store.ts";
import { formatOfName, openContent } from "../operations/content.ts";
import { readRecords } from "../operations/file-format.ts";
import type { ImportRecord } from "../operations/record-reader.ts";
import { openSource } from "../operations/source.ts";
import { exampleSeeds } from "./example-seeds.ts";

/** Larger records are rejected; a plant of the interface is smaller by default. */
const recordBytesMax = 64 * 2 ** 20;

/**
 * Creates the plants of the contract's examples for `examples`, of standard input for `-`, or of a
 * file. Resolves with a sentence for each example that is no plant. Rejects with an OperatorError
 * that names the first invalid line of a file.
 */
export async function loadSeeds(
  seeds: string,
  store: Pick<PlantStore, "create" | "contract">,
): Promise<readonly string[]> {
  if (seeds !== "examples") {
    await loadFile(seeds, store);
    return [];
  }
  const collection = onlyCollection(store.contract);
  const { plants, notes } = exampleSeeds(store.contract, collection);
  await store.create(toEntries(collection, plants));
  return notes;
}

async function loadFile(file: string, store: Pick<PlantStore, "create" | "contract">): Promise<void> {
  const collection = onlyCollection(store.contract);
  using source = openSource(file, new AbortController().signal);
  const { format, chunks } = await openContent(source.chunks, { name: file, named: formatOfName(file) });
  for await (const records of readRecords(collection, format, chunks, { recordBytesMax })) {
    const plants: Plant[] = records.map(({ plant, ...place }) => {
      if (plant instanceof ApiError) throw invalidSeed(file, place, plant.message);
      return plant;
    });
    const outcomes = await store.create(toEntries(collection, plants));
    for (const [index, plant] of plants.entries()) {
      const place = records[index] as ImportRecord;
      if (outcomes[index] === "conflict")
        throw invalidSeed(file, place, conflictError(collection, plant).message);
      if (outcomes[index] === "unavailable")
        throw invalidSeed(file, place, "the store in memory is full; use fewer seeds");
    }
  }
}

type Place = Pick<ImportRecord, "line" | "column">;

function invalidSeed(file: string, { line, column }: Place, message: string): OperatorError {
  const place = column === undefined ? "" : `, column ${column}`;
  return new OperatorError(`${file}, line ${line}${place}: ${message}`);
}
