// The id of a plant in a request to the console.

import { parseInt64 } from "../core/contract/int64.ts";
import { BadRequestError } from "./responses.ts";

/** Throws a BadRequestError. */
export function parseId(text: string): bigint {
  const id = parseInt64(text.trim());
  if (id === undefined) throw new BadRequestError("An id must be a 64-bit integer, such as 42 or -7.");
  return id;
}
