// Puts plants into a store, and reads them, without a command: a process costs 0.1 s. For tests of something else.

import { ApiError } from "../../src/core/contract/errors.ts";
import { type NewPlant, parseNewPlantJson } from "../../src/core/contract/plant.ts";
import { toEntries } from "../../src/core/store/plant-store.ts";
import { exportText } from "../../src/operations/export.ts";
import { withStore } from "./server.ts";

/** Creates the store if there is none, and its plants, which must be new. */
export async function storePlants(database: string, plants: readonly NewPlant[]): Promise<void> {
  const outcomes = await withStore(database, "create", (store) => store.create(toEntries(plants)));
  const others = outcomes.filter((outcome) => outcome !== "created");
  if (others.length > 0) throw new Error(`Some plants were not created: ${[...new Set(others)]}`);
}

/** The same for plants as lines of NDJSON. */
export function storeLines(database: string, lines: readonly string[]): Promise<void> {
  const plants = lines.map((line) => {
    const plant = parseNewPlantJson(line);
    if (plant instanceof ApiError) throw new Error(`${line}: ${plant.message}`);
    return plant;
  });
  return storePlants(database, plants);
}

/** All plants of a store, as `plantstore export` prints them. */
export async function exported(database: string): Promise<string> {
  const chunks = await withStore(database, "existing", (store) =>
    Array.fromAsync(exportText(store.export({}), "ndjson", ",", () => undefined)),
  );
  return chunks.join("");
}
