// Schemas as documents show them: without references, and with their parts merged where that changes
// nothing.

import { expect, test } from "bun:test";
import type { Json } from "../../../src/json/json-values.ts";
import { expandSchema } from "../../../src/openapi/description/expanded-schema.ts";
import { Place } from "../../../src/openapi/document/place.ts";
import { restrictionsText } from "../../../src/openapi/schema/restrictions.ts";

const text = { type: "string" };
const number = { type: "number" };
const schemas = { Text: text, Tree: { properties: { below: { $ref: "#/components/schemas/Tree" } } } };
const expanded = (schema: Json, openapi = "3.1.0") =>
  expandSchema(Place.root({ openapi, schema, components: { schemas } }).own("schema"));

test.each<[what: string, schema: Json, expected: Json]>([
  ["a reference", { items: { $ref: "#/components/schemas/Text" } }, { items: text }],
  [
    "a reference with a keyword beside it",
    { $ref: "#/components/schemas/Text", maxLength: 2 },
    { ...text, maxLength: 2 },
  ],
  ["a reference back to the schema that it is in", { $ref: "#/components/schemas/Tree" }, schemas.Tree],
  [
    "parts",
    { allOf: [{ properties: { a: text } }, { properties: { b: text } }] },
    { properties: { a: text, b: text } },
  ],
  [
    "FastAPI's optional properties",
    { anyOf: [text, { type: "null" }], title: "A" },
    { type: ["string", "null"], title: "A" },
  ],
])("%s is replaced", (_, schema, expected) => {
  expect(expanded(schema)).toEqual(expected);
});

test.each<[what: string, schema: Json]>([
  ["two schemas of a property", { allOf: [{ properties: { a: text } }, { properties: { a: number } }] }],
  [
    "a part that is closed",
    { allOf: [{ properties: { a: text }, additionalProperties: false }, { properties: { b: text } }] },
  ],
  ["two limits", { maxLength: 1, allOf: [{ maxLength: 2 }] }],
  ["several alternatives", { anyOf: [text, number] }],
  ["a value that looks like a reference", { enum: [{ $ref: "#/components/schemas/Text" }] }],
])("%s stays", (_, schema) => {
  expect(expanded(schema)).toEqual(schema);
});

test("OpenAPI 3.0 is written as 3.1", () => {
  const limits = { minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false };
  expect(expanded({ ...number, ...limits, nullable: true }, "3.0.3")).toEqual({
    type: ["number", "null"],
    exclusiveMinimum: 1,
    maximum: 9,
  });
  const beside = { $ref: "#/components/schemas/Text", maxLength: 2 };
  expect(expanded({ items: beside }, "3.0.3")).toEqual({ items: text });
});

test("schemas restrict alike whatever the order of their keywords, and their words", () => {
  const [one, other] = [
    { maxLength: 2, ...text },
    { ...text, title: "A", maxLength: 2 },
  ];
  expect(restrictionsText({ items: one })).toBe(restrictionsText({ items: other }));
  expect(restrictionsText(one)).not.toBe(restrictionsText(text));
});
