// The names that a description has for its parts.

import { referencedMembers } from "../json/json-pointer.ts";
import { isReference } from "./place.ts";

/** The last name of a reference, such as "Plant"; undefined if there is none. */
export function referencedName(value: unknown): string | undefined {
  return isReference(value) ? referencedMembers(value.$ref).at(-1) : undefined;
}
