// The operations of a collection beside the create.

import type { Contract, OperationName } from "../core/contract/contract.ts";
import type { Operation } from "../core/http/operation.ts";
import { deleteOperation } from "./delete-plant.ts";
import { changeOperation, replaceOperation } from "./edit-plant.ts";
import { getOperation } from "./get-plant.ts";
import { listOperation } from "./list-plants.ts";

const operations = { list: listOperation, get: getOperation, delete: deleteOperation } as const;

/** The names that `--operations` takes besides create. */
export const operationNames = Object.keys(operations);

/**
 * The operations that the contract describes, and others by the names that `--operations` takes.
 */
export function collectionOperations(contract: Contract, names: readonly string[] = []): Operation[] {
  const { replace, change } = contract.operations;
  const offered = Object.entries(operations).flatMap(([name, make]) =>
    contract.operations[name as OperationName] !== undefined || names.includes(name) ? [make(contract)] : [],
  );
  if (replace !== undefined) offered.push(replaceOperation(contract, replace));
  if (change !== undefined) offered.push(changeOperation(contract, change));
  return offered;
}
