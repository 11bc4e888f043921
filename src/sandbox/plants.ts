// Control of the plants: reading them back.

import { AdminError } from "../admin-pages/admin-responses.ts";
import { countCodeUnits } from "../core/contract/contract.ts";
import { parseInt64 } from "../core/contract/int64.ts";
import { plantJson } from "../core/contract/plant.ts";
import { readPlants } from "../operations/stored-plants.ts";
import { respondControlJson, type SandboxPart } from "./control.ts";
import type { MemoryStore } from "./memory-store.ts";

/** UTF-16 code units of plants, from which on a response has no more plants. */
const codeUnitsMax = 4 * 2 ** 20;

export function plantsPart(store: MemoryStore): SandboxPart {
  const { contract } = store;

  /** The first plants, and the id of the last of them if there are more. */
  async function list(sinceId: bigint | undefined, limit: number): Promise<Response> {
    const plants: string[] = [];
    let codeUnits = 0;
    let last: bigint | undefined;
    const respond = (next: bigint | null = null) =>
      respondControlJson(`{"plants":[${plants.join(",")}],"next":${next}}`);
    for await (const some of readPlants(contract, await store.openSql(), { sinceId }))
      for (const plant of some) {
        if (plants.length === limit || codeUnits >= codeUnitsMax) return respond(last);
        plants.push(plantJson(contract, plant));
        codeUnits += countCodeUnits(contract, plant.values);
        last = plant.id;
      }
    return respond();
  }

  function get(id: bigint | undefined): Response {
    if (id === undefined) throw new AdminError(400, "The id must be a 64-bit integer in decimal digits.");
    const plant = store.get(id);
    if (plant === undefined)
      throw new AdminError(404, `There is no ${contract.words.one} with the id ${id}.`);
    return respondControlJson(plantJson(contract, plant));
  }

  return {
    routes: {
      "GET /sandbox/plants": ({ query: { after, limit } }) => list(after, Number(limit)),
      "GET /sandbox/plants/{id}": ({ parameter }) => get(parseInt64(parameter)),
    },
    describe: () => ({ plants: store.count() }),
  };
}
