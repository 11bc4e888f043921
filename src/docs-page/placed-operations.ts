// Groups the operations as the page shows them, with what its forms need.

import { tokenField } from "../contract/access.ts";
import type { Collection, Contract } from "../contract/contract.ts";
import type { Json } from "../json/json-values.ts";
import { readRequirements } from "../openapi/description/security.ts";
import { collectionAt } from "./collection-at.ts";
import {
  type DescribedOperation,
  type DescribedParameter,
  type Description,
  parametersOf,
} from "./description.ts";

export interface PlacedOperation extends DescribedOperation {
  readonly method: string;
  readonly path: string;
  /** The start of the ids of its elements. */
  readonly id: string;
  /** The header field of the token; undefined where none is needed. */
  readonly field: ReturnType<typeof tokenField>;
}

/** Operations that stand together. */
export interface OperationGroup {
  /** Undefined for operations of none, where there are several collections, or none. */
  readonly collection: Collection | undefined;
  /** The create of the collection comes first. */
  readonly operations: readonly [PlacedOperation, ...PlacedOperation[]];
}

/**
 * The operations that are served: a group for each collection, and one for all others. Where there
 * is one collection, all are its group.
 */
export function operationGroups(contract: Contract, description: Description): OperationGroup[] {
  const { collections } = contract;
  const all = placedOperations(contract, description);
  return [...collections, undefined].flatMap((collection) => {
    const own = all.filter(
      ({ path }) => (collections.length === 1 ? collections[0] : collectionAt(contract, path)) === collection,
    );
    const isCreate = ({ method, path }: PlacedOperation) =>
      method === "POST" && path === collection?.describedPath;
    const [first, ...others] = own.toSorted((one, other) => Number(isCreate(other)) - Number(isCreate(one)));
    return first === undefined ? [] : [{ collection, operations: [first, ...others] }];
  });
}

function placedOperations(
  { otherOperations }: Contract,
  { paths, components, security }: Description,
): PlacedOperation[] {
  const methods = ["get", "put", "post", "delete", "patch"];
  const toId = (operationId: string) => operationId.replaceAll(/[^\p{L}\d_.-]+/gu, "-");
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((name) => {
      const method = name.toUpperCase();
      const isServed = !otherOperations.some((each) => each.path === path && each.method === method);
      const operation = item[name];
      if (operation === undefined || !isServed) return [];
      // The author of an operation that is no collection's may leave out all of these.
      const title = `${method} ${path}`;
      const { operationId = title, summary = title, description = "", parameters = [] } = operation;
      const all = [
        ...parametersOf(item).filter((each) => !parameters.some((own) => isSameParameter(own, each))),
        ...parameters,
      ];
      const { access } = readRequirements(
        operation.security ?? security,
        (name) => components.securitySchemes?.[name] as Json | undefined,
      );
      const field = tokenField(access);
      const described = { ...operation, operationId, summary, description, parameters: all };
      return [{ ...described, method, path, id: toId(operationId), field }];
    }),
  );
}

function isSameParameter(one: DescribedParameter, other: DescribedParameter): boolean {
  return one.name === other.name && one.in === other.in;
}
