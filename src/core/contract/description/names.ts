// The names that a description has for its parts.

import { referencedMembers } from "../json/json-pointer.ts";
import { isReference, type Place } from "./place.ts";

/**
 * The last name of a reference, such as "Plant", or the title of its schema if the name says nothing,
 * such as "def-0"; undefined if there is none.
 */
export function schemaName(place: Place | undefined): string | undefined {
  const value = place?.value;
  const name = isReference(value) ? referencedMembers(value.$ref).at(-1) : undefined;
  if (name === undefined || !/^(?:def|schema|model)?[-_]?\d+$/i.test(name)) return name;
  const title = place?.at("title").value;
  return typeof title === "string" && title.trim() !== "" ? title.trim() : undefined;
}
