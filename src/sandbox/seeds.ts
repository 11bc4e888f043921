// The seeds of a sandbox: plants that it starts with and that a reset brings back, from a file of
// NDJSON or CSV.

import type { Plant } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { conflictError } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import { type PlantStore, toEntries } from "../core/store/plant-store.ts";
import { formatOfFile, readRecords } from "../operations/format.ts";
import { openSource } from "../operations/source.ts";

/** Larger records are rejected; a plant of the interface is smaller by default. */
const recordBytesMax = 64 * 2 ** 20;

/**
 * Creates the plants of a file, or of standard input for `-`. Rejects with an OperatorError that
 * names the first invalid line.
 */
export async function loadSeeds(file: string, store: Pick<PlantStore, "create" | "contract">): Promise<void> {
  using source = openSource(file, new AbortController().signal);
  for await (const records of readRecords(store.contract, formatOfFile(file), source.chunks, {
    recordBytesMax,
  })) {
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
