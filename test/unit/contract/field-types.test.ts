// The types that schemas have: what each takes, what it makes of it, and the way to a column and
// back.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { Work } from "../../../src/contract/schema-check.ts";
import { convert, type FieldType, type FieldValue, fromJson } from "../../../src/contract/stored-types.ts";
import { sentText } from "../../../src/json/sent-json.ts";
import { expandSchema } from "../../../src/openapi/description/expanded-schema.ts";
import { fieldTypeOf } from "../../../src/openapi/description/field-type.ts";
import { Place } from "../../../src/openapi/document/place.ts";
import { SchemaReader } from "../../../src/openapi/schema/schema-reader.ts";
import { parsed, readThings } from "../../support/descriptions.ts";
import { expectProcessorMs } from "../../support/processes.ts";

const schemas = {
  text: { type: "string" },
  "text of 2 to 3": { type: "string", minLength: 2, maxLength: 3 },
  "text with a pattern": { type: "string", pattern: "^[A-Z]{2}-\\d+$" },
  "one of": { type: "string", enum: ["small", "large"] },
  constant: { const: "small" },
  "date-time": { type: "string", format: "date-time" },
  date: { type: "string", format: "date" },
  uuid: { type: "string", format: "uuid" },
  email: { type: "string", format: "email" },
  uri: { type: "string", format: "uri" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer" },
  "integer in limits": { type: "integer", minimum: 1, exclusiveMaximum: 10, multipleOf: 3 },
  "integer of an enum": { type: "integer", enum: [1, 5] },
  "integer or its digits": { type: ["integer", "string"], pattern: "^-?\\d+$", maximum: 9 },
  "2 digits": { type: "number", multipleOf: 0.01, minimum: 0 },
  "whole number": { type: "number", multipleOf: 1 },
  number: { type: "number" },
  halves: { type: "number", multipleOf: 0.5, exclusiveMinimum: 0 },
  boolean: { type: "boolean" },
  "array of texts": { type: "array", items: { type: "string" }, maxItems: 2 },
  object: { type: "object", required: ["sku"], properties: { sku: { type: "string", pattern: "^[a-z]+$" } } },
  "names of keywords": {
    type: "object",
    properties: { title: true, pattern: { type: "string", format: "ipvfuture" } },
    dependentRequired: { title: ["pattern"] },
    example: { pattern: "(?=x)" },
  },
  anything: {},
  "text or null": { type: ["string", "null"] },
  "integer or null": { type: ["integer", "null"] },
  either: { oneOf: [{ type: "string" }, { type: "integer" }] },
} as const;

const types = new Map<string, FieldType>();
for (const [name, schema] of Object.entries(schemas)) types.set(name, (await read(schema)).type);

/** The type of a schema, and what is noted of it. */
async function read(
  schema: object,
): Promise<{ readonly type: FieldType; readonly notes: readonly string[] }> {
  const place = Place.root({ openapi: "3.1.0", schema }).own("schema");
  const check = await new SchemaReader("request").check(place);
  return { type: fieldTypeOf(expandSchema(place), check), notes: place.notes };
}

function typeOf(name: string): FieldType {
  return types.get(name) as FieldType;
}

/** The value of a JSON text, or undefined. */
function taken(type: FieldType, json: string): unknown {
  return fromJson(type, sentText(json));
}

const accepted: Readonly<Record<keyof typeof schemas, Readonly<Record<string, FieldValue>>>> = {
  text: { '""': "", '"\\u0000"': "\0" },
  "text of 2 to 3": { '"abc"': "abc", '"🌿🌿"': "🌿🌿", '"🌿🌿🌿"': "🌿🌿🌿" },
  "text with a pattern": { '"AB-12"': "AB-12" },
  "one of": { '"small"': "small" },
  constant: { '"small"': "small" },
  "date-time": { '"2024-03-01T00:59:60.5+01:00"': "2024-03-01T00:59:60.5+01:00" },
  date: { '"2024-02-29"': "2024-02-29" },
  uuid: { '"0196B5F4-2c1a-7c3e-9f52-5d3a1c7e8b90"': "0196B5F4-2c1a-7c3e-9f52-5d3a1c7e8b90" },
  email: { '"a.b+c@example.com"': "a.b+c@example.com" },
  uri: { '"https://example.com/a?b#c"': "https://example.com/a?b#c", '"urn:isbn:1"': "urn:isbn:1" },
  int32: { "-2147483648": -(2n ** 31n), "1e3": 1_000n, "1.0": 1n, "-0": 0n },
  int64: { "9223372036854775807": 2n ** 63n - 1n, "9007199254740993": 2n ** 53n + 1n },
  "integer in limits": { "3": 3n, "9": 9n },
  "integer of an enum": { "5": 5n },
  "integer or its digits": { "7": 7n, '"7"': 7n },
  "2 digits": {
    "19.9": "19.90",
    "19.90": "19.90",
    "0.1e1": "1.00",
    "-0": "0.00",
    "12345678901234567890.12": "12345678901234567890.12",
    "1e2": "100.00",
    "1500e-2": "15.00",
  },
  "whole number": { "5": "5", "5.0": "5" },
  number: {
    "19.90": "19.90",
    "0.1": "0.1",
    "1e2": "100",
    "-1.50": "-1.50",
    "12345678901234567890": "12345678901234567890",
  },
  halves: { "1.5": "1.5", "0.50": "0.50" },
  boolean: { true: true, false: false },
  "array of texts": { "[]": "[]", '[ "a", "b" ]': '["a","b"]' },
  object: { '{"sku": "ab", "n": 12345678901234567890.10}': '{"sku":"ab","n":12345678901234567890.10}' },
  "names of keywords": { "{}": "{}", '{"title":1,"pattern":"(?=x)"}': '{"title":1,"pattern":"(?=x)"}' },
  anything: { null: "null", '"a  b"': '"a  b"', "[1, 2]": "[1,2]", '{"a": "\\" b"}': '{"a":"\\" b"}' },
  "text or null": { null: null, '"null"': "null", '"a"': "a", '"\\"q\\""': '"q"' },
  "integer or null": { null: null, "7": 7n },
  either: { '"a"': '"a"', "7": "7" },
};

const rejected: Readonly<Record<keyof typeof schemas, readonly string[]>> = {
  text: ["1", "null", "[]"],
  "text of 2 to 3": ['"abcd"', '"a"', '"🌿"', '"🌿🌿🌿🌿"'],
  "text with a pattern": ['"ab-12"', '"AB-"', '"xAB-1"'],
  "one of": ['"medium"', '"toString"', "1"],
  constant: ['"large"'],
  "date-time": ['"2023-02-29T00:00:00Z"', '"2024-01-01T00:00:00"', '"2024-01-01"', "1"],
  date: ['"2023-02-29"', '"2024-1-1"', '"2024-01-01T00:00:00Z"'],
  uuid: ['"0196b5f42c1a7c3e9f525d3a1c7e8b90"', '"x"'],
  email: ['"a"', '"a@"', '"a b@example.com"', '".a@example.com"', '"a@example..com"'],
  uri: ['"example.com"', '"https://exa mple.com"', '"https://[x"'],
  int32: ["2147483648", "1.5", '"1"'],
  int64: ["9223372036854775808", "1.0000000000000000001"],
  "integer in limits": ["0", "10", "4", "-3"],
  "integer or its digits": ["10", '"10"', '"1.5"', '"x"'],
  "integer of an enum": ["2"],
  "2 digits": ["19.999", "1e-3", '"19.90"', "1e40", "-0.01"],
  "whole number": ["5.5"],
  number: ['"1"', "1e39", "1e-39"],
  halves: ["0", "0.25", "-0.5"],
  boolean: ["1", '"true"'],
  "array of texts": ["{}", "[1]", '[["a"]]', '"a"', '["a","b","c"]'],
  object: ["{}", '{"sku":1}', '{"sku":"A"}', "[]"],
  "names of keywords": ['{"title":1}', '{"pattern":1}'],
  anything: [],
  "text or null": ["1"],
  "integer or null": ['"7"', "1.5"],
  either: ["1.5", "true"],
};

test.each(Object.keys(schemas) as (keyof typeof schemas)[])(
  "%s takes what its schema says, exactly",
  (name) => {
    const type = typeOf(name);
    for (const [json, value] of Object.entries(accepted[name]))
      expect([json, taken(type, json)]).toEqual([json, value]);
    for (const json of rejected[name]) expect([json, taken(type, json)]).toEqual([json, undefined]);
  },
);

test.each(Object.keys(schemas) as (keyof typeof schemas)[])(
  "a value of %s is the same after each way out and back",
  (name) => {
    const type = typeOf(name);
    for (const value of Object.values(accepted[name])) {
      expect(type.parse(type.format(value))).toEqual(value);
      expect(type.fromColumn(type.toColumn(value))).toEqual(value);
      expect(taken(type, type.toJson(value))).toEqual(value);
      expect(type.equals(value, value)).toBe(true);
      expect(type.format(value).length).toBeLessThanOrEqual(type.size(value));
    }
  },
);

test("any text and any integer come back, and numbers are equal whatever their zeros", () => {
  fc.assert(
    fc.property(fc.string(), (value) => {
      for (const name of ["text", "text or null"]) {
        const type = typeOf(name);
        expect(type.parse(type.format(value))).toBe(value);
        expect(taken(type, type.toJson(value))).toBe(value);
        expect(type.fromColumn(type.toColumn(value))).toBe(value);
      }
    }),
  );
  expect(typeOf("number").equals("19.9", "19.90")).toBe(true);
  expect(typeOf("number").equals("19.9", "19.91")).toBe(false);
});

test("a text that no engine can store is found", () => {
  expect(typeOf("text").unstorable("b\0")).toBe("holds U+0000 at index 1");
  expect(typeOf("text").unstorable("\ud800")).toBe("holds the unpaired surrogate U+D800 at index 0");
  expect(typeOf("text or null").unstorable(null)).toBeUndefined();
});

test.each(["^(a+)+$", "^(x*)*y$", "(a|aa)+$", "^(?:[a-z]{0,200}){0,4}[0-9]$"])(
  "a megabyte for the pattern %s never backtracks",
  async (pattern) => {
    // Some 15 ms on a common machine; backtracking would take hours.
    const msMax = 500;
    const { type } = await read({ type: "string", pattern });
    for (const unit of ["a", "x", "ab"]) {
      const text = `${unit.repeat(2 ** 19)}!`;
      type.parse("warm");
      expectProcessorMs(msMax, () => type.parse(text));
      // As long as a match is tried.
      for (let length = 2 ** 10; length < 2 ** 20; length *= 2)
        expectProcessorMs(msMax, () => type.parse(text.slice(0, length)));
    }
  },
);

test.each<[schema: object, json: string, reason: string]>([
  [
    { allOf: [{ type: "string", maxLength: 5 }, { maxLength: 3 }] },
    '"abcd"',
    "must be a string of at most 3 characters",
  ],
  [{ type: "string", minLength: 2, allOf: [{ minLength: 1, maxLength: 3 }] }, '"a"', "of 2 to 3 characters"],
  [{ type: "array", uniqueItems: true }, "[1,2,1]", "without equal items, such as those at 0 and 2"],
  [{ type: "object", required: ["a"] }, "{}", 'an object (it must be an object with the member "a")'],
  [{ type: "object", required: ["a"] }, "[]", "that the contract's schema accepts, but is an array."],
  [{ type: "array", items: { multipleOf: 3 } }, `[1e${"9".repeat(400)}]`, "must be"],
  [{ type: "array", items: { multipleOf: 3 } }, `[1e-${"9".repeat(400)}]`, "must be"],
])("the message for %j and %s says what would be right", async (schema, json, reason) => {
  const things = await readThings({ properties: { f: schema } });
  expect(parsed(things, `{"id":1,"f":${json}}`)).toContain(reason);
});

test("digits are checked as the integer that they are, also where the whole body is checked", () => {
  const type = typeOf("integer or its digits");
  const found = ['"9"', '"10"'].map((json) => convert(type, sentText(json), new Work(), false));
  expect(found).toEqual([9n, undefined]);
});
