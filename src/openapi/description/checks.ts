// Compiles the schemas of a description to checks. The validator is loaded for the first one that is
// needed: a contract of plain fields, such as the Plant Store's, needs none.

import type { SchemaCheck } from "../../contract/schema-check.ts";
import type { Place } from "../document/place.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";

/** The readers of descriptions, by their documents. */
const readers = new WeakMap<object, SchemaReader>();

/**
 * Compiles the schema at a place. Rejects with a ContractError.
 *
 * @param ignored members of an object that clients cannot set, so that they are not required.
 */
export async function checkOf(place: Place, ignored: readonly string[] = []): Promise<SchemaCheck> {
  const document = place.document.value as object;
  const { SchemaReader } = await import("../schema/schema-reader.ts");
  const reader = readers.get(document) ?? new SchemaReader();
  readers.set(document, reader);
  return await reader.check(place, ignored);
}
