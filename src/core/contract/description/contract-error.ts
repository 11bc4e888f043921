// Why a description cannot be served, in one sentence for the operator.

import { OperatorError } from "../../operator-error.ts";

/** @param pointer the place in the description (RFC 6901), such as "/paths/~1parcels/post". */
export function contractError(pointer: string, problem: string): OperatorError {
  return new OperatorError(`the contract cannot be served: ${problem} (at ${pointer || "its root"})`, 2);
}
