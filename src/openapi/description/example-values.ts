// Finds examples of fields: those of the contract, or values that its schema accepts.

import { WorkExceeded } from "../../contract/schema-check.ts";
import { type FieldType, type FieldValue, fromJson } from "../../contract/stored-types.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { sentText } from "../../json/sent-json.ts";
import { textFormat } from "../schema/formats.ts";
import { propertiesOf, requiredOf } from "../schema/restrictions.ts";

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

/** Finds an example that the type accepts: of the schema, of a body, or one that is made up. */
export function exampleOf(schema: Json, type: FieldType, ofBody: readonly unknown[]): FieldValue | undefined {
  for (const candidate of [...examplesIn(schema, ofBody), ...madeUp(schema)]) {
    const value = toFieldValue(type, candidate);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The values in a schema and in examples of bodies, the most telling first. */
function examplesIn(schema: Json, ofBody: readonly unknown[] = []): unknown[] {
  const { example, examples, default: fallback, enum: values, const: constant } = schema;
  const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
  const all = [example, ...listed(examples), ...ofBody, fallback, ...listed(values), constant];
  return all.filter((each) => each !== undefined);
}

/** The longest text that is made up. */
const madeUpCharactersMax = 10_000;

/** Values of all types, which fit common limits. */
function* madeUp(schema: Json): Generator<unknown> {
  const numberOf = (value: unknown, otherwise: number) => (typeof value === "number" ? value : otherwise);
  const minLength = Math.min(numberOf(schema.minLength, 0), madeUpCharactersMax);
  const maxLength = numberOf(schema.maxLength, 6);
  const multipleOf = numberOf(schema.multipleOf, 1);
  const { minimum, maximum, exclusiveMinimum, items, anyOf, oneOf } = schema;
  for (const parts of [anyOf, oneOf])
    if (Array.isArray(parts))
      for (const part of parts)
        if (isObject(part) && part.type !== "null") yield* [...examplesIn(part), ...madeUp(part)];
  yield textFormat(schema.format)?.example;
  yield "string".repeat(Math.ceil(minLength / 6) || 1).slice(0, Math.max(minLength, Math.min(6, maxLength)));
  for (const length of [1, minLength || 1]) for (const letter of ["a", "A", "1"]) yield letter.repeat(length);
  yield minimum;
  if (typeof exclusiveMinimum === "number") yield exclusiveMinimum + multipleOf;
  for (const value of [1, 0, multipleOf, maximum, 1.5, true, [], {}]) yield value;
  if (isObject(items)) for (const item of [...examplesIn(items), ...madeUp(items)]) yield [item];
  yield Object.fromEntries(
    requiredOf(schema).map((name) => [name, memberOf(propertiesOf(schema)[String(name)])]),
  );
  yield null;
}

/** A value for a required member of an object. */
function memberOf(schema: unknown): unknown {
  if (!isObject(schema)) return undefined;
  const usual = { string: "string", integer: 1, number: 1, boolean: true, array: [], object: {} };
  return examplesIn(schema)[0] ?? Object.entries(usual).find(([type]) => type === schema.type)?.[1];
}
