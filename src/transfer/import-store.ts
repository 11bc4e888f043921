// A collection of a store, into which plants are imported.

import type { Collection } from "../contract/contract.ts";
import { type FreeIds, freeIdsOf } from "../plants/chosen-id.ts";
import type { PlantStore } from "../store/plant-store.ts";
import type { SqlConnection } from "../store/sql-connection.ts";

/** The store of an import, or one that only predicts its outcomes. */
export interface ImportStore extends Pick<PlantStore, "create"> {
  /** The collection of the plants. */
  readonly collection: Collection;
  /** Finds ids for records without one, where the contract allows few. */
  readonly freeIds?: FreeIds | undefined;
}

/** A collection of a store, for an import. */
export function importStore(
  store: Pick<PlantStore, "create">,
  collection: Collection,
  sql: SqlConnection | undefined,
): ImportStore {
  return {
    collection,
    create: (batch, createdAt) => store.create(batch, createdAt),
    freeIds: sql && freeIdsOf(collection, sql, () => undefined),
  };
}
