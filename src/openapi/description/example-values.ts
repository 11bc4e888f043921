// Finds examples of fields: those of the contract, or values that its schema accepts.

import { WorkExceeded } from "../../contract/schema-check.ts";
import { type FieldType, type FieldValue, fromJson } from "../../contract/stored-types.ts";
import { toExactJson } from "../../json/exact-json.ts";
import type { Json } from "../../json/json-values.ts";
import { sentText } from "../../json/sent-json.ts";
import type { Place } from "../document/place.ts";

/** A value of a description as that of a field; undefined if it is none, or cannot be stored. */
export function toFieldValue(type: FieldType, value: unknown): FieldValue | undefined {
  if (value === undefined) return undefined;
  try {
    const found = fromJson(type, sentText(toExactJson(value)));
    return found === undefined || type.unstorable(found) !== undefined ? undefined : found;
  } catch (error) {
    // A body with it would be refused, too.
    if (error instanceof WorkExceeded) return undefined;
    throw error;
  }
}

/**
 * Finds an example that the type accepts: of the schema, of a body, or one that is made.
 *
 * @param places of schemas that all hold.
 */
export async function exampleOf(
  { schema, places }: { readonly schema: Json; readonly places: readonly Place[] },
  type: FieldType,
  ofBody: readonly unknown[] = [],
): Promise<FieldValue | undefined> {
  const { example, examples, default: usual, enum: values, const: constant } = schema;
  const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
  const described = [example, ...listed(examples), ...ofBody, usual, ...listed(values), constant];
  const own = described.map((each) => toFieldValue(type, each)).find((each) => each !== undefined);
  if (own !== undefined) return own;
  // Loaded late, as the Plant Store's contract has examples.
  const { madeValues } = await import("../schema/made-values.ts");
  for (const made of madeValues(places, { direction: "request" })) {
    const value = toFieldValue(type, made);
    if (value !== undefined) return value;
  }
  return undefined;
}
