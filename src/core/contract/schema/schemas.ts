// Schemas without references: their parts, and the keywords that restrict values.

import { isDeepStrictEqual } from "node:util";

/** A JSON object of the description. */
export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The properties of a schema; none if it names none. */
export function propertiesOf({ properties }: Json): Json {
  return isObject(properties) ? properties : {};
}

/** The names that a schema requires. */
export function requiredOf({ required }: Json): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

/** Whether clients cannot set a property. */
export function isReadOnly(property: unknown): boolean {
  return isObject(property) && property.readOnly === true;
}

const annotations: readonly string[] = [
  "title",
  "description",
  "default",
  "example",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "externalDocs",
  "xml",
  "discriminator",
  "$comment",
  "$anchor",
  "$id",
  "$schema",
  "contentMediaType",
  "contentEncoding",
  "contentSchema",
];

/** Whether a keyword restricts no values. */
export function isAnnotation(keyword: string): boolean {
  return keyword.startsWith("x-") || annotations.includes(keyword);
}

/** The first keyword that the schema of a whole body must not have; undefined if there is none. */
export function unsupportedKeyword(schema: Json): string | undefined {
  return Object.keys(schema).find((keyword) => {
    const isKnown = ["type", "properties", "required"].includes(keyword) || isAnnotation(keyword);
    const isOpen = keyword === "additionalProperties" && typeof schema[keyword] === "boolean";
    return !isKnown && !isOpen;
  });
}

/** Keywords whose members are named by the author. */
const maps = [
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependentRequired",
  "$defs",
  "definitions",
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
      if (data.includes(name)) return [name, value];
      if (!maps.includes(name) || !isObject(value)) return [name, change(value, name)];
      const members = Object.entries(value).map(([key, each]) => [key, change(each, name, key)]);
      return [name, Object.fromEntries(members)];
    }),
  );
}

/** A schema without its annotations. */
export function restrictionsOf(schema: Json): Json {
  const kept = Object.entries(schema).filter(([name]) => !isAnnotation(name));
  return mapSubschemas(Object.fromEntries(kept), restrictionsIn);
}

function restrictionsIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(restrictionsIn);
  return isObject(value) ? restrictionsOf(value) : value;
}

/** Whether two schemas restrict values by the same keywords. */
export function restrictsAlike(one: Json, other: Json): boolean {
  return isDeepStrictEqual(restrictionsOf(one), restrictionsOf(other));
}
