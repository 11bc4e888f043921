// Examples of fields: those of the contract, or values that its schema accepts.

import type { FieldType, FieldValue } from "./field-types.ts";
import type { Json } from "./schemas.ts";
import { textFormat } from "./text-schemas.ts";

/** A value of JSON.parse as a value of a field; undefined if it is none. */
export function toFieldValue(type: FieldType, value: unknown): FieldValue | undefined {
  return value === undefined ? undefined : type.fromJson(value, () => JSON.stringify(value));
}

/** Finds an example that the type accepts: of the schema, of a body, or one that is made up. */
export function exampleOf(schema: Json, type: FieldType, ofBody: readonly unknown[]): FieldValue | undefined {
  const examples = Array.isArray(schema.examples) ? schema.examples : [];
  const values = Array.isArray(schema.enum) ? schema.enum : [];
  const given = [schema.example, ...examples, ...ofBody, schema.default, ...values, schema.const];
  for (const candidate of [...given, ...candidates(schema)]) {
    const value = toFieldValue(type, candidate);
    if (value !== undefined) return value;
  }
  return undefined;
}

function* candidates(schema: Json): Generator<unknown> {
  const {
    minLength = 0,
    maxLength = 6,
    minimum,
    maximum,
    exclusiveMinimum,
    multipleOf = 1,
  } = schema as Json & {
    readonly minLength?: number;
    readonly maxLength?: number;
    readonly multipleOf?: number;
  };
  yield textFormat(schema.format)?.example;
  yield "string".repeat(Math.ceil(minLength / 6) || 1).slice(0, Math.max(minLength, Math.min(6, maxLength)));
  for (const pattern of [
    "a",
    "A",
    "1",
    "a".repeat(minLength || 1),
    "A".repeat(minLength || 1),
    "1".repeat(minLength || 1),
  ])
    yield pattern;
  yield minimum;
  if (typeof exclusiveMinimum === "number") yield exclusiveMinimum + multipleOf;
  for (const number of [1, 0, multipleOf, maximum, 1.5]) yield number;
  yield true;
  yield [];
  yield {};
  yield* arrays(schema);
  yield null;
}

/** An array with one item, or an object with its required members, one level deep. */
function* arrays({ items, properties, required }: Json): Generator<unknown> {
  if (typeof items === "object" && items !== null)
    for (const item of [
      ...(((items as Json).examples as unknown[]) ?? []),
      (items as Json).example,
      ...candidates(items as Json),
    ])
      if (item !== undefined) yield [item];
  if (typeof properties !== "object" || properties === null || !Array.isArray(required)) return;
  yield Object.fromEntries(
    required.map((name: string) => {
      const schema = (properties as Record<string, Json>)[name] ?? {};
      const candidates = [
        schema.example,
        ...((schema.examples as unknown[]) ?? []),
        ...((schema.enum as unknown[]) ?? []),
      ];
      const byType: Record<string, unknown> = {
        string: "string",
        integer: 1,
        number: 1,
        boolean: true,
        array: [],
        object: {},
      };
      return [name, candidates.find((each) => each !== undefined) ?? byType[String(schema.type)]];
    }),
  );
}
