// Tells the keywords of schemas that restrict values from others, and compares what they restrict.

import { isDeepStrictEqual } from "node:util";
import { toExactJson } from "../../json/exact-json.ts";
import { isObject, type Json } from "../../json/json-values.ts";

/** The properties of a schema; none if it names none. */
export function propertiesOf({ properties }: Json): Json {
  return isObject(properties) ? properties : {};
}

/** The names that a schema requires. */
export function requiredOf({ required }: Json): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

/** Keywords that restrict nothing. */
export const annotationKeywords: readonly string[] = [
  ...["title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"],
  ...["externalDocs", "xml", "$comment", "$id", "$schema", "$anchor", "$dynamicAnchor", "$vocabulary"],
  ...["$defs", "definitions", "contentMediaType", "contentEncoding", "contentSchema"],
];

/** Whether a keyword restricts no values. */
export function isAnnotation(keyword: string): boolean {
  return keyword.startsWith("x-") || annotationKeywords.includes(keyword);
}

/** A schema of OpenAPI 3.0 as 3.1 writes it: its exclusive limits are no booleans. `nullable` is left out. */
export function fromVersion30(schema: Json): Json {
  const { nullable, ...changed } = schema as Record<string, unknown>;
  for (const [exclusive, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof schema[exclusive] !== "boolean") continue;
    delete changed[exclusive];
    if (!schema[exclusive] || schema[limit] === undefined) continue;
    changed[exclusive] = schema[limit];
    delete changed[limit];
  }
  return changed;
}

/** Keywords whose members are named by the author. */
const maps = [
  ...["properties", "patternProperties", "dependentSchemas", "dependentRequired", "$defs", "definitions"],
];

/** Keywords whose values are data, and no schemas. */
const data = ["enum", "const", "default", "example", "examples"];

/** A schema with the values of its keywords changed, unless they are data. */
export function mapSubschemas(
  schema: Json,
  change: (value: unknown, ...names: readonly string[]) => unknown,
): Json {
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => {
      if (data.includes(name) || isAnnotation(name)) return [name, value];
      if (!maps.includes(name) || !isObject(value)) return [name, change(value, name)];
      const members = Object.entries(value).map(([key, each]) => [key, change(each, name, key)]);
      return [name, Object.fromEntries(members)];
    }),
  );
}

/** A schema without its annotations. */
function restrictionsOf(schema: Json): Json {
  const kept = Object.entries(schema).filter(([name]) => !isAnnotation(name));
  return mapSubschemas(Object.fromEntries(kept), restrictionsIn);
}

function restrictionsIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(restrictionsIn);
  return isObject(value) ? restrictionsOf(value) : value;
}

/** The keywords of a schema that restrict values, in the order of their names. */
export function restrictionsText(schema: Json): string {
  return toExactJson(sorted(restrictionsOf(schema)));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, each]) => [name, sorted(each)]));
}

/** Whether two schemas restrict values by the same keywords. */
export function restrictsAlike(one: Json, other: Json): boolean {
  return isDeepStrictEqual(restrictionsOf(one), restrictionsOf(other));
}
