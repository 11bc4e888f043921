// The operations of a collection beside the create.

import type { Collection } from "../core/contract/contract.ts";
import type { Operation } from "../core/http/operation.ts";
import { deleteOperation } from "./delete-plant.ts";
import { changeOperation, replaceOperation } from "./edit-plant.ts";
import { getOperation } from "./get-plant.ts";
import { listOperation } from "./list-plants.ts";
import { operationNames } from "./operation-settings.ts";

const operations: Readonly<Record<(typeof operationNames)[number], (collection: Collection) => Operation>> = {
  list: listOperation,
  get: getOperation,
  delete: deleteOperation,
};

/**
 * The operations that the contract describes, and others by the names that `--operations` takes.
 */
export function collectionOperations(collection: Collection, names: readonly string[] = []): Operation[] {
  const { replace, change } = collection.operations;
  const offered = operationNames.flatMap((name) =>
    collection.operations[name] !== undefined || names.includes(name) ? [operations[name](collection)] : [],
  );
  if (replace !== undefined) offered.push(replaceOperation(collection, replace));
  if (change !== undefined) offered.push(changeOperation(collection, change));
  return offered;
}
