// Makes of a plant what the page gets: its values are texts.

import type { Collection, Plant, Values } from "../../contract/contract.ts";
import { plantJson } from "../../contract/plant.ts";
import type { StoredPlant } from "../../plants/stored-plants.ts";

/** Lists cut texts at this length, in UTF-16 code units. */
export const listedLength = 300;

/** @param lengthMax longer texts are cut, in UTF-16 code units. */
export function toShown(collection: Collection, plant: Required<StoredPlant>, lengthMax?: number) {
  const { id, values, creation } = plant;
  return {
    id,
    values: toTexts(collection, values, lengthMax),
    createdAt: new Date(creation.createdAt).toISOString(),
    token: creation.token?.slice(0, lengthMax) ?? null,
    version: versionOf(collection, plant),
  };
}

/**
 * The values of a plant as texts, in the order of the fields; null for a field that it does not
 * have.
 */
export function toTexts({ fields }: Collection, values: Values, lengthMax?: number) {
  return fields.map(({ type }, index) => {
    const value = values[index];
    return value === undefined ? null : type.format(value).slice(0, lengthMax);
  });
}

/** A digest of a plant. An edit compares digests to find plants that have changed since. */
export function versionOf(collection: Collection, plant: Plant): string {
  return Bun.hash(plantJson(collection, plant)).toString(36);
}
