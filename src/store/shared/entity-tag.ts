// Makes the entity tags (RFC 9110, section 8.8.3) of single plants.

import type { Collection } from "../../contract/contract.ts";
import { plantJson } from "../../contract/plant.ts";
import { createdVersion, type StoredPlant } from "./plant-rows.ts";

/**
 * A strong tag, which never comes back: 132 bits of SHA-256 of the version, of the contract, which
 * makes the response, and, as two creations may share a millisecond, of a plant that was not changed.
 *
 * @param json what plantJson returns for the plant, where that is known.
 */
export function entityTag(
  collection: Collection,
  plant: Pick<StoredPlant, "id" | "values" | "createdAt" | "version">,
  json?: string,
): string {
  const isCreated = plant.version === createdVersion(plant.createdAt);
  const content = isCreated ? (json ?? plantJson(collection, plant)) : "";
  const hash = Bun.SHA256.hash(`${collection.digest} ${plant.version} ${content}`, "base64url");
  return `"${hash.slice(0, 22)}"`;
}
