// Reads one stored plant, with its time of creation and its entity tag.

import type { Collection, Plant } from "../contract/contract.ts";
import { toValues } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { OperationStore } from "../store/operation-store.ts";
import { entityTag } from "./entity-tag.ts";

export interface StoredOne {
  readonly plant: Plant;
  readonly createdAt: bigint;
  /** Null for a plant that was never changed; undefined where the contract does not have it. */
  readonly changedAt?: bigint | null | undefined;
  readonly entityTag: string;
}

/** Rejects as the store does. */
export async function readOne(
  collection: Collection,
  store: Pick<OperationStore, "get">,
  id: PlantId,
): Promise<StoredOne | undefined> {
  const row = await store.get(collection, id);
  if (row === undefined) return undefined;
  const stored = toStored(collection, { id, values: toValues(collection, row) }, row.created_at);
  return { ...stored, changedAt: row.changed_at };
}

export function toStored(collection: Collection, plant: Plant, createdAt: bigint): StoredOne {
  return { plant, createdAt, entityTag: entityTag(collection, plant, createdAt) };
}
