// Compiles the schemas of a description to checks. The validator is loaded for the first one that is
// needed: a contract of plain fields, such as the Plant Store's, needs none.

import type { SchemaCheck } from "../../contract/schema-check.ts";
import type { Place } from "../document/place.ts";
import type { Direction } from "../schema/directions.ts";

interface Checked {
  /** Requests by default. */
  readonly direction?: Direction;
  /** Members of an object that are hidden besides those that the schema hides. */
  readonly hidden?: readonly string[];
}

/** Compiles the schema at a place. Rejects with a ContractError. */
export async function checkOf(
  place: Place,
  { direction = "request", hidden = [] }: Checked = {},
): Promise<SchemaCheck> {
  const { SchemaReader } = await import("../schema/schema-reader.ts");
  const reader = place.document.derive(`reader of ${direction}`, () => new SchemaReader(direction));
  return await reader.check(place, hidden);
}
