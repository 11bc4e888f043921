// Reads the plants of a sandbox back, and adds one, for control.

import { AdminError } from "../admin-pages/admin-responses.ts";
import { ApiError } from "../base/errors.ts";
import { type Collection, countCodeUnits } from "../contract/contract.ts";
import { conflictError, parsePlantJson, plantJson } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { toExactJson } from "../json/exact-json.ts";
import { readPlants } from "../plants/stored-plants.ts";
import { toEntries } from "../store/plant-store.ts";
import { type ControlRequest, nothingAt, respondControlJson, type SandboxPart } from "./control.ts";
import { controlName } from "./control-document.ts";
import type { MemoryStore } from "./memory-store.ts";

/** UTF-16 code units of plants, from which on a response has no more plants. */
const codeUnitsMax = 4 * 2 ** 20;

export function plantsPart(store: MemoryStore): SandboxPart {
  const { collections } = store.contract;

  function named({ parameters: { collection: name = "" } }: ControlRequest): Collection {
    const found = collections.find((each) => controlName(each) === name);
    if (found === undefined) throw nothingAt(`/sandbox/${name}`);
    return found;
  }

  /** The first plants, and the id of the last of them if there are more. */
  async function list(
    collection: Collection,
    { query: { after, limit } }: Pick<ControlRequest, "query">,
  ): Promise<Response> {
    const sinceId = after === undefined ? undefined : parseId(collection, String(after), "after");
    const plants: string[] = [];
    let codeUnits = 0;
    let last: PlantId | undefined;
    const respond = (next?: PlantId) =>
      respondControlJson(
        `{"resources":[${plants.join(",")}],"next":${next === undefined ? null : collection.id.type.toJson(next)}}`,
      );
    for await (const some of readPlants(collection, await store.openSql(), { sinceId }))
      for (const plant of some) {
        if (plants.length === Number(limit) || codeUnits >= codeUnitsMax) return respond(last);
        plants.push(plantJson(collection, plant));
        codeUnits += countCodeUnits(collection, plant.values);
        last = plant.id;
      }
    return respond();
  }

  function get(collection: Collection, text: string): Response {
    const id = parseId(collection, text);
    const plant = store.get(collection, id);
    if (plant === undefined)
      throw new AdminError(404, `There is no ${collection.words.one} with the id ${id}.`);
    return respondControlJson(plantJson(collection, plant));
  }

  /** Creates a plant as it is, with its id. */
  async function add(collection: Collection, json: unknown): Promise<Response> {
    const plant = parsePlantJson(collection, toExactJson(json));
    if (plant instanceof ApiError) throw new AdminError(400, plant.message);
    const [outcome] = await store.create(toEntries(collection, [plant]));
    if (outcome === "conflict") throw new AdminError(409, conflictError(collection, plant).message);
    if (outcome === "unavailable") throw new AdminError(507, "The store in memory is full; reset it.");
    return respondControlJson(plantJson(collection, plant), outcome === "created" ? 201 : 200);
  }

  function parseId({ id: { type } }: Collection, text: string, subject = "The id"): PlantId {
    const id = type.parse(text);
    if (id !== undefined) return id;
    const expected = type.kind.name === "integer" ? "a 64-bit integer in decimal digits" : type.expected;
    throw new AdminError(400, `${subject} must be ${expected}, but is ${JSON.stringify(text)}.`);
  }

  return {
    routes: {
      "GET /sandbox/{collection}": (request) => list(named(request), request),
      "POST /sandbox/{collection}": async (request) => add(named(request), await request.body()),
      "GET /sandbox/{collection}/{id}": (request) => get(named(request), request.parameters.id ?? ""),
    },
    describe: () => ({ resources: collections.reduce((sum, each) => sum + store.count(each), 0) }),
  };
}
