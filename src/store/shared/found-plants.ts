// Reads plants by their ids, and writes the JSON of each where the rows are, as page.ts does.

import { type Contract, collectionOf, representationOf } from "../../contract/contract.ts";
import { responseJson } from "../../contract/plant.ts";
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

/**
 * The JSON of each plant, then the tag of each; undefined for one that is not there. Flat, as objects
 * take longer to cross threads.
 */
export type FoundTexts = readonly (string | undefined)[];

/** See ReadConnection.find. */
export function* foundWork(contract: Contract, { table, ids, urls }: FoundQuery): SqlWork<FoundTexts> {
  const collection = collectionOf(contract, table);
  const response = representationOf(collection, "get");
  const [rows = []] = yield [plantsStatement(collection, ids)];
  const stored = byId(collection, rows as readonly StoredRow[]);
  const found = ids.map((id) => stored.get(id));
  return [
    ...found.map(
      (plant, index) =>
        plant && responseJson(collection, response, plant, { ...timesOf(plant), url: urls[index] ?? "" }),
    ),
    ...found.map((plant) => plant && entityTag(collection, plant)),
  ];
}

/** The plant at a place of the query. */
export function foundAt(texts: FoundTexts, index: number): FoundPlant | undefined {
  const [json, tag] = [texts[index], texts[texts.length / 2 + index]];
  return json === undefined || tag === undefined ? undefined : { json, tag };
}
