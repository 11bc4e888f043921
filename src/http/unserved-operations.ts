// Responds with 501 to operations that a contract describes and this server does not have.

import { ApiError } from "../base/errors.ts";
import type { Contract } from "../contract/contract.ts";
import { encodePath, pathShape } from "../json/percent-encoding.ts";
import { type Operation, type OperationRow, rejectAuthenticated } from "./operation.ts";

/** Put these last: of two operations with one method and path the first is found. */
export function unservedOperations(contract: Contract): Operation[] {
  return contract.otherOperations.map(({ method, path }) => ({
    operationId: `${method.toLowerCase()}Unserved`,
    method,
    path: encodePath(path),
    isServed: false,
    advice: "",
    run: (exchange, services) => rejectAuthenticated(exchange, services, notServed(contract, method, path)),
  }));
}

type Placed = Pick<OperationRow, "method" | "path">;

/** Operations without those whose method and path others have. */
export function withoutThose<Row extends Placed>(
  operations: readonly Row[],
  others: readonly Placed[],
): Row[] {
  const key = ({ method, path }: Placed) => `${method} ${pathShape(path)}`;
  const known = new Set(others.map(key));
  return operations.filter((each) => !known.has(key(each)));
}

export function notServed({ collections }: Contract, method: string, path: string): ApiError {
  const served = collections.map(({ path }) => path).join(", ");
  const advice = served === "" ? "" : `; use the operations of ${served}`;
  return new ApiError(
    "notImplemented",
    `${method} ${path} is described in the contract, but this server does not implement it${advice}.`,
  );
}
