// An example of a schema's value, for samples and forms.

import type { Schema } from "./description.ts";
import type { Draft } from "./draft.ts";

/** Returns a value of a schema: the author's example where there is one. */
export function exampleOf(draft: Draft, schema: Schema): unknown {
  if (schema.$ref !== undefined) return exampleOf(draft, draft.resolve(schema) ?? {});
  const { example, examples, default: ownDefault, const: constant, enum: values } = schema;
  // Another value than an array is an author's mistake.
  const listed = (all: unknown): readonly unknown[] => (Array.isArray(all) ? all : []);
  const all = [example, ...listed(examples), ownDefault, constant, ...listed(values)];
  const given = all.find((each) => each !== undefined);
  if (given !== undefined) return given;
  if (schema.properties !== undefined || schema.allOf !== undefined) {
    const properties = Object.entries(schema.properties ?? {});
    const own = properties.map(([name, each]) => [name, exampleOf(draft, each)]);
    // The properties that a schema adds to another one come first, such as the id of a NewPlant.
    const parts = (schema.allOf ?? []).toReversed().map((each) => exampleOf(draft, each) as object);
    return Object.assign(Object.fromEntries(own), ...parts);
  }
  if (schema.type === "array") return schema.items === undefined ? [] : [exampleOf(draft, schema.items)];
  if (schema.type === "boolean") return true;
  return schema.type === "string" ? "text" : Math.max(1, schema.minimum ?? 1);
}
