// Values that are made from schemas: whatever the schema, one that is made fits it.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { OpenApiDocument } from "../../../../src/contract/contract.ts";
import { faultIn } from "../../../../src/contract/schema-check.ts";
import { Place } from "../../../../src/openapi/document/place.ts";
import { ValueMaker } from "../../../../src/openapi/schema/made-values.ts";
import { SchemaReader } from "../../../../src/openapi/schema/schema-reader.ts";

const documentOf = (schemas: object, version = "3.1.0"): OpenApiDocument => ({
  openapi: version,
  info: { title: "a", version: "1" },
  components: { schemas },
});

async function made(schemas: object, { version = "3.1.0", isDynamic = false } = {}) {
  const place = Place.root(documentOf(schemas, version)).at("components", "schemas", "A");
  const check = await new SchemaReader("response").check(place);
  const value = new ValueMaker("response").make(place, check, isDynamic);
  return { value, isFit: value !== undefined && faultIn(check, value) === undefined };
}

const leaf = fc.oneof(
  fc.record({ type: fc.constant("string"), minLength: fc.nat(4), maxLength: fc.integer({ min: 4, max: 9 }) }),
  fc
    .constantFrom("date-time", "uuid", "email", "duration", "ipv6", "byte")
    .map((format) => ({ type: "string", format })),
  fc
    .constantFrom("^[a-f\\d]{3,5}$", "^v\\d+(?:\\.\\d+)?$", "^(?:on|off)$")
    .map((pattern) => ({ type: "string", pattern })),
  fc.record({
    type: fc.constant("integer"),
    minimum: fc.integer({ min: -50, max: 0 }),
    maximum: fc.integer({ min: 60, max: 90 }),
    multipleOf: fc.integer({ min: 1, max: 9 }),
  }),
  fc.constantFrom({ enum: ["a", 1, null] }, { const: { b: [1] } }, { type: ["boolean", "null"] }),
);
const { schema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.record({
      type: fc.constant("array"),
      items: tie("schema"),
      minItems: fc.nat(2),
      maxItems: fc.integer({ min: 2, max: 5 }),
    }),
    fc.tuple(tie("schema"), tie("schema"), fc.subarray(["a", "b"])).map(([a, b, required]) => {
      return {
        type: "object",
        properties: { a, b, again: { $ref: "#/components/schemas/A" } },
        required,
        additionalProperties: false,
      };
    }),
    fc.tuple(tie("schema"), tie("schema")).map((anyOf) => ({ anyOf })),
  ),
}));

test("a value is made for each schema, it fits, and is the same each time", async () => {
  await fc.assert(
    fc.asyncProperty(schema, async (A) => {
      const first = await made({ A });
      expect(first.isFit).toBe(true);
      expect(await made({ A })).toEqual(first);
    }),
    { numRuns: 300, seed: 1 },
  );
});

const naming = (kind: string) => ({
  allOf: [
    { $ref: "#/components/schemas/A" },
    { required: [kind], properties: { [kind]: { type: "integer" } } },
  ],
});
const animal = {
  type: "object",
  required: ["kind"],
  properties: { kind: { type: "string" } },
  discriminator: { propertyName: "kind" },
};

test.each<[string, Record<string, unknown>, string | undefined, unknown]>([
  ["an example before a default", { A: { type: "string", example: "x", default: "y" } }, undefined, "x"],
  ["a default before an enum", { A: { enum: ["x", "y"], default: "y" } }, undefined, "y"],
  [
    "no example that does not fit",
    { A: { type: "integer", minimum: 5, maximum: 5, example: "x" } },
    undefined,
    5,
  ],
  [
    "the digits of an example",
    { A: { type: "integer", example: 9007199254740993n } },
    undefined,
    9007199254740993n,
  ],
  [
    "a value rather than null",
    { A: { type: "integer", nullable: true, minimum: 7, maximum: 7 } },
    "3.0.3",
    7,
  ],
  ["limits of 3.0", { A: { type: "integer", minimum: 7, exclusiveMinimum: true, maximum: 8 } }, "3.0.3", 8],
  [
    "one of several constants that an enum has, too",
    { A: { enum: [2], allOf: [{ type: "integer", oneOf: [{ const: 1 }, { const: 2 }] }] } },
    undefined,
    2,
  ],
  [
    "as many items as are needed",
    { A: { type: "array", minItems: 3, maxItems: 900, items: { const: 1 } } },
    undefined,
    [1, 1, 1],
  ],
  [
    "the name of a schema that extends another",
    { A: animal, Cat: naming("claws") },
    "3.0.3",
    { kind: "Cat", claws: expect.any(Number) },
  ],
])("makes %s", async (_, schemas, version, value) => {
  expect(await made(schemas, version === undefined ? {} : { version })).toEqual({ value, isFit: true });
});

test("what no value fits has none, and recursive schemas end", async () => {
  const node = (required: string[]) => ({
    type: "object",
    required,
    properties: {
      next: { $ref: "#/components/schemas/A" },
      all: { type: "array", items: { $ref: "#/components/schemas/A" } },
    },
  });
  expect((await made({ A: node(["next"]) })).value).toBeUndefined();
  expect((await made({ A: node(["all"]) })).isFit).toBe(true);
  expect((await made({ A: { type: "string", minLength: 10 ** 9 } })).value).toBeUndefined();
});

test("a value has at most 500 parts, and 24 levels", async () => {
  const items = (minItems: number) => ({ type: "array", minItems, items: { const: 1 } });
  for (const [count, isMade] of [
    [499, true],
    [500, false],
  ] as const)
    expect([count, (await made({ A: items(count) })).value !== undefined]).toEqual([count, isMade]);
  const nested = (levels: number) => {
    let schema: object = { const: 1 };
    for (let level = 0; level < levels; level++) schema = { type: "array", minItems: 1, items: schema };
    return schema;
  };
  for (const [levels, isMade] of [
    [24, true],
    [25, false],
  ] as const)
    expect([levels, (await made({ A: nested(levels) })).value !== undefined]).toEqual([levels, isMade]);
});

test("another value is made each time, where that is asked for", async () => {
  const values = await Promise.all(
    [1, 2, 3].map(() => made({ A: { type: "string", minLength: 20, example: "x" } }, { isDynamic: true })),
  );
  expect(new Set(values.map(({ value }) => value)).size).toBe(3);
});

test.each(["anyOf", "oneOf"])(
  "a schema that must contain itself or null, by %s, ends with null",
  async (keyword) => {
    const self = { [keyword]: [{ $ref: "#/components/schemas/A" }, { type: "null" }] };
    const properties = { name: { type: "string" }, parent: self, next: self, first: self };
    const A = { type: "object", properties, required: ["name", "parent", "next", "first"] };
    expect((await made({ A })).isFit).toBe(true);
  },
);

const iban = { type: "string", pattern: "^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$", minLength: 15, maxLength: 34 };
test.each<object>([
  iban,
  { ...iban, minLength: 34 },
  { type: "string", pattern: "^(?:[a-z]+-)?\\d+[^a-z]*$", minLength: 9, maxLength: 9 },
  { type: "string", format: "byte", minLength: 10 },
  { type: "string", format: "byte", minLength: 8, maxLength: 8 },
  { type: "integer", format: "int64", minimum: 10 ** 18 },
  { type: "object", patternProperties: { "^x-[a-z]+$": { type: "integer" } }, minProperties: 3 },
  {
    type: "object",
    patternProperties: { "^x-[a-z]+$": iban },
    minProperties: 2,
    additionalProperties: false,
  },
])("a value is made, the same and new each time, for %j", async (A) => {
  expect(await made({ A })).toMatchObject({ isFit: true });
  expect(await made({ A }, { isDynamic: true })).toMatchObject({ isFit: true });
  const outer = { type: "object", required: ["a"], properties: { a: { $ref: "#/components/schemas/B" } } };
  expect(await made({ A: outer, B: A })).toMatchObject({ isFit: true });
});
