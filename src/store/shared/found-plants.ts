// Reads plants by their ids, and writes the JSON of each where the rows are, as page.ts does.

import { type Contract, collectionOf, representationOf } from "../../contract/contract.ts";
import { isPlantJson, responseJson } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { entityTag } from "./entity-tag.ts";
import { byId, plantsStatement, type StoredRow, timesOf } from "./plant-rows.ts";
import type { SqlWork } from "./sql-work.ts";

/** A plant of a response. */
export interface FoundPlant {
  readonly json: string;
  readonly tag: string;
}

/** The plants to find: plain data. */
export interface FoundQuery {
  readonly table: string;
  readonly ids: readonly PlantId[];
  /** The URL of each plant, where the response has it. */
  readonly urls: readonly string[];
}

/** See ReadConnection.find. */
export function* foundWork(
  contract: Contract,
  { table, ids, urls }: FoundQuery,
): SqlWork<(FoundPlant | undefined)[]> {
  const collection = collectionOf(contract, table);
  const response = representationOf(collection, "get");
  const isWhole = isPlantJson(response);
  const [rows = []] = yield [plantsStatement(collection, ids)];
  const stored = byId(collection, rows as readonly StoredRow[]);
  return ids.map((id, index) => {
    const plant = stored.get(id);
    if (plant === undefined) return undefined;
    const details = { ...timesOf(plant), url: urls[index] ?? "" };
    const json = responseJson(collection, response, plant, details);
    return { json, tag: entityTag(collection, plant, isWhole ? json : undefined) };
  });
}
