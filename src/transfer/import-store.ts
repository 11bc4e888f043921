// A collection of a store, into which plants are imported.

import type { Collection } from "../contract/contract.ts";
import type { PlantStore } from "../store/plant-store.ts";

/** The store of an import, or one that only predicts its outcomes. */
export interface ImportStore extends Pick<PlantStore, "create"> {
  /** That of the plants. */
  readonly collection: Collection;
}

/** A collection of a store, for an import. */
export function importStore(store: Pick<PlantStore, "create">, collection: Collection): ImportStore {
  return { collection, create: (batch, createdAt) => store.create(batch, createdAt) };
}
