// The seeds of a sandbox: plants that it starts with and that a reset brings back, from a file of
// NDJSON or CSV, or from the examples of the contract.

import type { Plant } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { conflictError } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import { type PlantStore, toEntries } from "../core/store/plant-store.ts";
import { formatOfName, openContent } from "../operations/content.ts";
import { readRecords } from "../operations/format.ts";
import { openSource } from "../operations/source.ts";
import { exampleSeeds } from "./example-seeds.ts";

/** Larger records are rejected; a plant of the interface is smaller by default. */
const recordBytesMax = 64 * 2 ** 20;

/**
 * Creates the plants of the contract's examples for `examples`, of standard input for `-`, or of a file.
 * Resolves with a sentence for each example that is no plant. Rejects with an OperatorError that names
 * the first invalid line of a file.
 */
export async function loadSeeds(
  seeds: string,
  store: Pick<PlantStore, "create" | "contract">,
): Promise<readonly string[]> {
  if (seeds !== "examples") {
    await loadFile(seeds, store);
    return [];
  }
  const { plants, notes } = exampleSeeds(store.contract);
  await store.create(toEntries(plants));
  return notes;
}

async function loadFile(file: string, store: Pick<PlantStore, "create" | "contract">): Promise<void> {
  using source = openSource(file, new AbortController().signal);
  const { format, chunks } = await openContent(source.chunks, { name: file, named: formatOfName(file) });
  for await (const records of readRecords(store.contract, format, chunks, { recordBytesMax })) {
    const plants: Plant[] = records.map(({ line, plant }) => {
      if (plant instanceof ApiError) throw invalidSeed(file, line, plant);
      return plant;
    });
    const outcomes = await store.create(toEntries(plants));
    for (const [index, plant] of plants.entries()) {
      const line = records[index]?.line ?? 0;
      if (outcomes[index] === "conflict") throw invalidSeed(file, line, conflictError(store.contract, plant));
      if (outcomes[index] === "unavailable")
        throw new OperatorError(`${file}, line ${line}: the store in memory is full; use fewer seeds`);
    }
  }
}

function invalidSeed(file: string, line: number, { message }: ApiError): OperatorError {
  return new OperatorError(`${file}, line ${line}: ${message}`);
}
