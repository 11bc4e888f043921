// What responses leave out of a value, wherever its schema says so.

import { expect, test } from "bun:test";
import { filterJson } from "../../../../src/json/json-filter.ts";
import { Place } from "../../../../src/openapi/document/place.ts";
import { filterOf } from "../../../../src/openapi/schema/directions.ts";

const hidden = { writeOnly: true };
const schemas = {
  Hidden: hidden,
  Plain: {},
  Pet: { discriminator: { propertyName: "kind" } },
  Cat: { allOf: [{ $ref: "#/components/schemas/Pet" }, { properties: { a: hidden } }] },
  Dog: { allOf: [{ $ref: "#/components/schemas/Pet" }] },
};

/** A value as a response has it. */
function shown(schema: object, value: unknown, openapi = "3.1.0"): unknown {
  const root = Place.root({ openapi, schema, components: { schemas } });
  const filter = filterOf([root.own("schema")], "response");
  return filter === undefined ? "no filter" : JSON.parse(filterJson(JSON.stringify(value), filter));
}

const a = { properties: { a: hidden } };
const kinds = ["x", "y"].map((kind) => ({
  allOf: [{ properties: { kind: { const: kind } } }, ...(kind === "x" ? [a] : [])],
}));

test.each<[what: string, schema: object, value: unknown, expected: unknown]>([
  [
    "a member of a referenced schema",
    { properties: { a: { $ref: "#/components/schemas/Hidden" } } },
    { a: 1, b: 1 },
    { b: 1 },
  ],
  ["other members", { properties: { b: {} }, additionalProperties: hidden }, { a: 1, b: 1 }, { b: 1 }],
  [
    "members of a pattern",
    { properties: { b: {} }, patternProperties: { "^a": hidden } },
    { a: 1, b: 1 },
    { b: 1 },
  ],
  ["the first items", { prefixItems: [a], items: {} }, [{ a: 1 }, { a: 1 }], [{}, { a: 1 }]],
  ["the other items", { prefixItems: [{}], items: a }, [{ a: 1 }, { a: 1 }], [{ a: 1 }, {}]],
  ["a dependent schema", { dependentSchemas: { b: a } }, { a: 1, b: 1 }, { b: 1 }],
  ["a condition", { if: {}, else: a }, { a: 1 }, {}],
  ["the alternative that a constant names", { oneOf: kinds }, { kind: "x", a: 1 }, { kind: "x" }],
  ["no other alternative", { oneOf: kinds }, { kind: "y", a: 1 }, { kind: "y", a: 1 }],
  [
    "the schema that a discriminator names",
    { $ref: "#/components/schemas/Pet" },
    { kind: "Cat", a: 1 },
    { kind: "Cat" },
  ],
  ["no other schema", { $ref: "#/components/schemas/Pet" }, { kind: "Dog", a: 1 }, { kind: "Dog", a: 1 }],
  ["nothing", { properties: { a: { readOnly: true } } }, { a: 1 }, "no filter"],
])("%s", (_, schema, value, expected) => {
  expect(shown(schema, value)).toEqual(expected);
});

test("OpenAPI 3.0 ignores what is beside a reference", () => {
  const schema = { properties: { a: { $ref: "#/components/schemas/Plain", writeOnly: true } } };
  expect(shown(schema, { a: 1 }, "3.0.3")).toBe("no filter");
  expect(shown(schema, { a: 1 })).toEqual({});
});
