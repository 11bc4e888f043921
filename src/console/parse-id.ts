// The id of a plant in a request to the console.

import type { Contract } from "../core/contract/contract.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import { BadRequestError } from "./console-responses.ts";

/** Throws a BadRequestError. */
export function parseId({ id: { type } }: Contract, text: string): PlantId {
  const id = type.parse(type.kind === "integer" ? text.trim() : text);
  if (id === undefined)
    throw new BadRequestError(
      type.kind === "integer"
        ? "An id must be a 64-bit integer, such as 42 or -7."
        : `An id must be ${type.expected}.`,
    );
  return id;
}
