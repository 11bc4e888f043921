// The operations as the page shows them, with what its forms need.

import { tokenField } from "../core/contract/access.ts";
import { type Contract, onlyCollection } from "../core/contract/contract.ts";
import { readRequirements } from "../core/contract/description/security.ts";
import type { Json } from "../core/contract/json/json-values.ts";
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

/** The operations that are served, the create first. */
export function placedOperations(
  { others, collections }: Contract,
  { paths, components, security }: Description,
): [PlacedOperation, ...PlacedOperation[]] | [] {
  const methods = ["get", "put", "post", "delete", "patch"];
  const toId = (operationId: string) => operationId.replaceAll(/[^\p{L}\d_.-]+/gu, "-");
  const all = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((name) => {
      const method = name.toUpperCase();
      const isServed = !others.some((each) => each.path === path && each.method === method);
      const operation = item[name];
      if (operation === undefined || !isServed) return [];
      const { operationId, parameters = [] } = operation;
      const all = [
        ...parametersOf(item).filter((each) => !parameters.some((own) => isSameParameter(own, each))),
        ...parameters,
      ];
      const { access } = readRequirements(
        operation.security ?? security,
        (name) => components.securitySchemes?.[name] as Json | undefined,
      );
      return [
        { ...operation, method, path, id: toId(operationId), parameters: all, field: tokenField(access) },
      ];
    }),
  );
  const { describedPath } = onlyCollection({ collections });
  const [create] = all.filter(({ method, path }) => method === "POST" && path === describedPath);
  return create === undefined ? [] : [create, ...all.filter((each) => each !== create)];
}

function isSameParameter(one: DescribedParameter, other: DescribedParameter): boolean {
  return one.name === other.name && one.in === other.in;
}
