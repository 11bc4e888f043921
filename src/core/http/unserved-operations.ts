// The operations that a contract describes and this server does not have: they respond with 501.

import type { Contract } from "../contract/contract.ts";
import { ApiError } from "../contract/errors.ts";
import { encodePath } from "../contract/json/percent-encoding.ts";
import { type Operation, rejectAuthenticated } from "./operation.ts";

/** @param offered those that are served: others with the same method and path are left out. */
export function unservedOperations(contract: Contract, offered: readonly Operation[]): Operation[] {
  const shape = (path: string) => path.replaceAll(/\{[^{}]*\}/g, "{}");
  const isOffered = (method: string, path: string) =>
    offered.some((operation) => operation.method === method && shape(operation.path) === shape(path));
  return contract.others
    .filter(({ method, path }) => !isOffered(method, path))
    .map(({ method, path }) => ({
      operationId: `${method.toLowerCase()}Unserved`,
      method,
      path: encodePath(path),
      advice: undefined,
      run: (exchange, services) => rejectAuthenticated(exchange, services, notServed(contract, method, path)),
    }));
}

export function notServed(contract: Contract, method: string, path: string): ApiError {
  return new ApiError(
    "notImplemented",
    `${method} ${path} is described in the contract, but this server does not implement it; use the operations of ${contract.path}.`,
  );
}
