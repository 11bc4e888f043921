// The id of a plant as an argument of a command.

import { parseInt64 } from "../core/contract/int64.ts";
import { OperatorError } from "../core/operator-error.ts";

export function parseIdArgument(text: string): bigint {
  const id = parseInt64(text);
  if (id === undefined)
    throw new OperatorError(`the id "${text}" is not a 64-bit integer such as 42 or -7`, 2);
  return id;
}

export function noSuchPlant(id: bigint): OperatorError {
  return new OperatorError(`there is no plant with the id ${id} in this store`);
}
