// Control of the plants: reading them back.

import { AdminError } from "../admin-responses.ts";
import { countCodeUnits } from "../core/contract/fields.ts";
import { parseInt64 } from "../core/contract/int64.ts";
import type { NewPlant } from "../core/contract/plant.ts";
import { readPlants, type StoredPlant } from "../operations/stored-plants.ts";
import { respondControl, type SandboxPart } from "./control.ts";
import type { MemoryStore } from "./memory-store.ts";

/** UTF-16 code units of plants, from which on a response has no more plants. */
const codeUnitsMax = 4 * 2 ** 20;

export function plantsPart(store: MemoryStore): SandboxPart {
  async function list(sinceId: bigint | undefined, limit: number): Promise<Response> {
    return respondControl(await readPage(readPlants(await store.openSql(), { sinceId }), limit));
  }

  function get(id: bigint | undefined): Response {
    if (id === undefined) throw new AdminError(400, "The id must be a 64-bit integer in decimal digits.");
    const plant = store.get(id);
    if (plant === undefined) throw new AdminError(404, `There is no plant with the id ${id}.`);
    return respondControl(plant);
  }

  return {
    routes: {
      "GET /sandbox/plants": ({ query: { after, limit } }) => list(after, Number(limit)),
      "GET /sandbox/plants/{id}": ({ parameter }) => get(parseInt64(parameter)),
    },
    describe: () => ({ plants: store.count() }),
  };
}

/** The first plants, and the id of the last of them if there are more. */
async function readPage(
  pages: AsyncIterable<readonly StoredPlant[]>,
  limit: number,
): Promise<{ plants: readonly NewPlant[]; next: bigint | null }> {
  const plants: NewPlant[] = [];
  let codeUnits = 0;
  for await (const some of pages)
    for (const { creation: _, ...plant } of some) {
      if (plants.length === limit || codeUnits >= codeUnitsMax)
        return { plants, next: plants.at(-1)?.id ?? null };
      plants.push(plant);
      codeUnits += countCodeUnits(plant);
    }
  return { plants, next: null };
}
