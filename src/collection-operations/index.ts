// The operations of a collection beside the create.

import type { Contract } from "../core/contract/contract.ts";
import type { Operation } from "../core/http/operation.ts";
import { deleteOperation } from "./delete-plant.ts";
import { changeOperation, replaceOperation } from "./edit-plant.ts";
import { getOperation } from "./get-plant.ts";
import { listOperation } from "./list-plants.ts";
import { operationNames } from "./operation-settings.ts";

const operations: Readonly<Record<(typeof operationNames)[number], (contract: Contract) => Operation>> = {
  list: listOperation,
  get: getOperation,
  delete: deleteOperation,
};

/**
 * The operations that the contract describes, and others by the names that `--operations` takes.
 */
export function collectionOperations(contract: Contract, names: readonly string[] = []): Operation[] {
  const { replace, change } = contract.operations;
  const offered = operationNames.flatMap((name) =>
    contract.operations[name] !== undefined || names.includes(name) ? [operations[name](contract)] : [],
  );
  if (replace !== undefined) offered.push(replaceOperation(contract, replace));
  if (change !== undefined) offered.push(changeOperation(contract, change));
  return offered;
}
