// Finds examples of fields: those of the contract, or values that its schema accepts.

import { WorkExceeded } from "../../contract/schema-check.ts";
import { type FieldType, type FieldValue, fromJson } from "../../contract/stored-types.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { sentText } from "../../json/sent-json.ts";
import { textFormat } from "../schema/formats.ts";
import { propertiesOf, requiredOf } from "../schema/restrictions.ts";
import { sampleText } from "../schema/sample-texts.ts";
import { mergeAllOf } from "./expanded-schema.ts";

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
  const minLength =
    typeof schema.minLength === "number" ? Math.min(schema.minLength, madeUpCharactersMax) : 0;
  const multipleOf = typeof schema.multipleOf === "number" ? schema.multipleOf : 1;
  const { minimum, maximum, exclusiveMinimum, items, anyOf, oneOf } = schema;
  for (const parts of [anyOf, oneOf])
    if (Array.isArray(parts))
      for (const part of parts)
        if (isObject(part) && part.type !== "null") yield* [...examplesIn(part), ...madeUp(part)];
  yield textFormat(schema.format)?.example;
  yield textOf(schema);
  for (const length of [1, minLength || 1]) for (const letter of ["a", "A", "1"]) yield letter.repeat(length);
  yield minimum;
  if (typeof exclusiveMinimum === "number") yield exclusiveMinimum + multipleOf;
  for (const value of [1, 0, multipleOf, maximum, 1.5, true, [], {}]) yield value;
  if (isObject(items)) for (const item of [...examplesIn(items), ...madeUp(items)]) yield [item];
  yield sampleOf(schema, 0);
  yield null;
}

/** Objects and arrays within each other that are made up. */
const depthMax = 16;

/** Items of an array, and members of an object, that are made up. */
const partsMax = 100;

/** A value that has what its schema requires at every depth: examples of its parts, or the least. */
function sampleOf(given: unknown, depth: number): unknown {
  if (!isObject(given) || depth > depthMax) return depth > depthMax ? undefined : {};
  const schema = Array.isArray(given.allOf) ? mergeAllOf(given) : given;
  const [known] = depth === 0 ? [] : examplesIn(schema);
  if (known !== undefined) return known;
  const { anyOf, oneOf, ...own } = schema;
  const parts = [anyOf, oneOf].flat().filter((part) => isObject(part) && part.type !== "null");
  if (parts.length > 0) return sampleOf(mergeAllOf({ allOf: [own, parts[0]] }), depth);
  const type = [schema.type].flat().find((each) => each !== "null") ?? impliedType(schema);
  if (type === "string") return sampleText(schema) ?? textOf(schema);
  if (type === "integer" || type === "number") return numberOf(schema, type);
  if (type === "boolean") return true;
  if (type === "null") return null;
  const { minItems = 0, items, minProperties = 0 } = schema;
  if (type === "array") {
    const length = Math.min(Number(minItems), partsMax);
    return Array.from({ length }, () => sampleOf(items, depth + 1));
  }
  const properties = propertiesOf(schema);
  const named = requiredOf(schema).map(String);
  const more = [...Object.keys(properties), ...["a", "b", "c", "d"]].filter((name) => !named.includes(name));
  const names = [...named, ...more.slice(0, Math.max(Number(minProperties) - named.length, 0))];
  const schemaOf = (name: string) =>
    Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
  return Object.fromEntries(names.map((name) => [name, sampleOf(schemaOf(name), depth + 1)]));
}

function impliedType({ properties, required, items, pattern, minimum }: Json): string {
  if (properties !== undefined || required !== undefined) return "object";
  if (items !== undefined) return "array";
  return pattern !== undefined ? "string" : minimum === undefined ? "object" : "number";
}

function textOf({ minLength, maxLength }: Json): string {
  const length = Math.max(
    Math.min(6, Number(maxLength ?? 6)),
    Math.min(Number(minLength ?? 0), madeUpCharactersMax),
  );
  return "string".repeat(Math.ceil(length / 6)).slice(0, length);
}

/** The least number that the limits allow, or the greatest, or 1. */
function numberOf(schema: Json, type: "integer" | "number"): unknown {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  // One beyond 2^53 is as it is written.
  if (minimum !== undefined && typeof minimum !== "number") return minimum;
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : type === "integer" ? 1 : 0.5;
  const isBelow = typeof exclusiveMaximum === "number";
  const most = typeof maximum === "number" ? maximum : isBelow ? exclusiveMaximum - step : undefined;
  if (typeof exclusiveMinimum === "number") return (Math.floor(exclusiveMinimum / step) + 1) * step;
  if (typeof minimum === "number") return Math.ceil(minimum / step) * step;
  return most !== undefined && most < 1 ? Math.floor(most / step) * step : Math.ceil(1 / step) * step;
}
