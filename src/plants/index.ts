// Makes the operations of a collection besides the create.

import type { Collection } from "../contract/contract.ts";
import type { Operation } from "../http/operation.ts";
import { deleteOperation } from "./delete-plant.ts";
import { editOperation } from "./edit-plant.ts";
import { getOperation } from "./get-plant.ts";
import { listOperation } from "./list-plants.ts";
import type { operationNames } from "./operation-settings.ts";

type Name = (typeof operationNames)[number] | "replace" | "change";

const operations: Readonly<Record<Name, (collection: Collection) => Operation>> = {
  list: listOperation,
  get: getOperation,
  delete: deleteOperation,
  replace: (collection) => editOperation(collection, "replace"),
  change: (collection) => editOperation(collection, "change"),
};

/**
 * The operations that the contract describes, and others by the names that `--operations` takes.
 */
export function collectionOperations(collection: Collection, names: readonly string[] = []): Operation[] {
  const isOffered = (name: Name) => collection.operations[name] !== undefined || names.includes(name);
  const offered = (Object.keys(operations) as Name[]).filter(isOffered);
  return offered.map((action) => ({
    ...operations[action](collection),
    serves: { collection: collection.name, action },
  }));
}
