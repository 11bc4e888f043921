// What schemas accept, where they find a fault, and in which words they say it.

import { expect, test } from "bun:test";
import { type SchemaCheck, Work, WorkExceeded } from "../../../../src/contract/schema-check.ts";
import { parseExactJson } from "../../../../src/json/exact-json.ts";
import { Place } from "../../../../src/openapi/document/place.ts";
import type { Direction } from "../../../../src/openapi/schema/directions.ts";
import { SchemaReader } from "../../../../src/openapi/schema/schema-reader.ts";

interface Read {
  readonly check: SchemaCheck;
  readonly notes: readonly string[];
}

/** Reads a schema, which is written as JSON, so that its numbers are exact. */
async function read(schema: string, direction: Direction = "request"): Promise<Read> {
  const root = Place.root(
    parseExactJson(`{"openapi":"3.1.0","schema":${schema},"components":{"schemas":${components}}}`) as never,
  );
  return { check: await new SchemaReader(direction).check(root.own("schema")), notes: root.notes };
}

/** The fault of a value, such as `/0/a: an integer`; "" if it is accepted. */
function faultOf({ check }: Read, value: string): string {
  const fault = check.fault(parseExactJson(value), new Work());
  return fault === undefined ? "" : `/${fault.path.join("/")}: ${fault.expected}`;
}

const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

/** Schemas with what they say of values: "" for a value that is accepted. */
const faults: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '{"type":"string"}': { '"a"': "", "1": "/: a string", null: "/: a string" },
  '{"type":["string","null"],"maxLength":2}': {
    null: "",
    "1": "/: a string of at most 2 characters or null",
  },
  '{"type":["string","null"],"enum":["a"]}': { null: '/: one of "a"', '"a"': "" },
  '{"type":["string","integer"]}': { "1.0": "", "1.5": "/: a string or an integer" },
  '{"minLength":2}': { '"🌿"': "/: a string of at least 2 characters", '"🌿🌿"': "", "1": "" },
  '{"maxLength":1}': { '"🌿"': "", '"🌿🌿"': "/: a string of at most 1 character" },
  '{"minLength":300000000}': { '"a"': "/: a string of at least 300000000 characters" },
  '{"type":"string","pattern":"^a"}': { '"ba"': "/: a string that matches ^a" },
  '{"type":"string","format":"date"}': { '"2026-02-30"': "/: a date such as 2026-11-24" },
  '{"enum":[1,{"a":[1.0]},"x"]}': {
    "1.0": "",
    '{"a":[1]}': "",
    '{"a":[2]}': "/: a value that the contract's schema accepts",
  },
  '{"const":9007199254740993}': { "9007199254740993": "", "9007199254740992": "/: one of 9007199254740993" },
  '{"const":null}': { null: "", "0": "/: one of null" },
  '{"type":"integer"}': {
    "1e3": "",
    "1e400000": "",
    "1.5": "/: an integer",
    "12345678901234567890.5": "/: an integer",
  },
  '{"type":"integer","format":"int32"}': {
    "2147483647": "",
    "-2147483648": "",
    "2147483648": "/: an integer (int32)",
  },
  '{"format":"uint64"}': { "18446744073709551615": "", "-1": "/: an integer (uint64)", '"a"': "" },
  '{"format":"float"}': { "3.4e38": "", "1e39": "/: a number (float)", "1e400000": "/: a number (float)" },
  '{"type":"integer","minimum":1,"exclusiveMaximum":10}': { "10": "/: an integer, at least 1 and below 10" },
  '{"maximum":9223372036854775807}': {
    "9223372036854775807": "",
    "9223372036854775808": "/: a number, at most 9223372036854775807",
    "-1e400000": "",
  },
  '{"maximum":1e400}': { "-1": "", "0": "", "2e400": "/: a number, at most 1e400" },
  '{"multipleOf":0.01}': {
    "19.99": "",
    "4.35": "",
    "0.29": "",
    "1e400000": "",
    "0.295": "/: a number with at most 2 digits after the point",
    "123456789012345678901.234": "/: a number with at most 2 digits after the point",
  },
  '{"multipleOf":12}': { "144": "", "1e30": "/: a number, a multiple of 12", "12e400000": "", "0": "" },
  '{"items":{"type":"boolean"}}': { "[true,1]": "/1: a boolean", '"a"': "" },
  '{"prefixItems":[{"type":"string"}],"items":false}': {
    '["a"]': "",
    "[1]": "/0: a string",
    '["a",1]': "/: an array of at most 1 item",
  },
  '{"type":"array","minItems":1,"maxItems":3}': {
    "[]": "/: an array of 1 to 3 items",
    "{}": "/: an array",
  },
  '{"uniqueItems":true}': {
    '[{"a":1,"b":2},{"b":2,"a":1.0}]': "/: an array without equal items, such as those at 0 and 1",
    '[1,"1",[1],true]': "",
  },
  '{"contains":{"type":"string"},"maxContains":1}': {
    "[1]": '/: an array with 1 item that its "contains" accepts',
    '["a","b"]': '/: an array with 1 item that its "contains" accepts',
    '["a",1]': "",
  },
  '{"contains":{"const":1},"minContains":0}': { "[]": "" },
  '{"required":["x"]}': { "{}": '/: an object with the member "x"', '{"x":null}': "", "[]": "" },
  '{"required":["constructor"]}': { "{}": '/: an object with the member "constructor"' },
  '{"properties":{"a":{"type":"integer","format":"int32"},"enum":{"type":"string"},"y":false}}': {
    '{"a":1.5}': "/a: an integer (int32)",
    '{"enum":1}': "/enum: a string",
    '{"y":1}': '/: an object without the member "y"',
  },
  '{"properties":{"__proto__":{"type":"string"}},"additionalProperties":false}': {
    '{"__proto__":1}': "/__proto__: a string",
    '{"__proto__":"a"}': "",
    '{"toString":1}': '/: an object without the member "toString"',
  },
  '{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":{"type":"null"}}': {
    '{"x1":1}': "/x1: a string",
    '{"y":1}': "/y: null",
    '{"y":null}': "",
  },
  '{"propertyNames":{"maxLength":2}}': { '{"abc":1}': '/: an object without the member "abc"' },
  '{"minProperties":1,"maxProperties":1}': { "{}": "/: an object of 1 member" },
  '{"dependentRequired":{"a":["b"]}}': { '{"a":1}': '/: an object with the member "b"', '{"b":1}': "" },
  '{"dependentSchemas":{"a":{"required":["b"]}}}': { '{"a":1}': '/: an object with the member "b"' },
  '{"allOf":[{"maximum":9223372036854775807},{"type":"integer","maximum":9223372036854775807}]}': {
    "9223372036854775808": "/: a number, at most 9223372036854775807",
    "9223372036854775807": "",
  },
  '{"allOf":[{"type":"string"},{"maxLength":5}]}': {
    '"abcdef"': "/: a string of at most 5 characters",
    "1": "/: a string",
  },
  '{"anyOf":[{"type":"string","maxLength":2},{"type":"object","required":["a"]}]}': {
    '"abc"': "/: a string of at most 2 characters",
    "{}": '/: an object with the member "a"',
    "1": "/: a string of at most 2 characters or an object",
  },
  '{"anyOf":[{"allOf":[{"type":"string"}]},{"type":"object","required":["a"]}]}': {
    "{}": '/: an object with the member "a"',
  },
  '{"anyOf":[{"properties":{"a":true,"b":false}},true],"unevaluatedProperties":false}': {
    '{"a":1,"b":1}': '/: an object without the member "a"',
  },
  '{"oneOf":[{"multipleOf":2},{"multipleOf":3}]}': {
    "6": "/: a value that only one schema of its oneOf accepts",
    "9": "",
  },
  '{"not":{"type":"string"}}': { '"a"': '/: a value that the schema of its "not" does not accept', "1": "" },
  '{"if":{"type":"string"},"then":{"maxLength":1},"else":{"type":"integer"}}': {
    '"ab"': "/: a string of at most 1 character",
    true: "/: an integer",
  },
  '{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}': {
    '{"a":1}': "",
    '{"b":1}': '/: an object without the member "b"',
  },
  '{"anyOf":[{"properties":{"a":true}},{"properties":{"b":true}}],"unevaluatedProperties":false}': {
    '{"a":1,"b":1}': "",
  },
  '{"allOf":[{"properties":{"a":true},"unevaluatedProperties":true}],"unevaluatedProperties":false}': {
    '{"a":1,"b":1}': "",
  },
  '{"properties":{"a":{"readOnly":true}},"allOf":[{"required":["a"],"properties":{"b":{"readOnly":true}}}]}':
    {
      "{}": "",
    },
  '{"properties":{"a":{"readOnly":true}},"maxProperties":1}': { '{"a":1,"b":1}': "" },
  '{"required":["a"],"oneOf":[{"properties":{"a":{"readOnly":true}}}]}': { "{}": "" },
  '{"required":["a"],"properties":{"a":{"writeOnly":true}}}': { "{}": '/: an object with the member "a"' },
  '{"anyOf":[{"prefixItems":[true]}],"unevaluatedItems":{"type":"string"}}': {
    '[1,"a"]': "",
    "[1,2]": "/1: a string",
  },
  '{"$ref":"#/components/schemas/Short","minLength":2}': {
    '"abcd"': "/: a string of at most 3 characters",
    '"a"': "/: a string of 2 to 3 characters",
    '"ab"': "",
  },
  '{"$ref":"#/components/schemas/Tree"}': {
    '{"children":[{"children":[]}]}': "",
    '{"children":[{"children":[1]}]}': "/children/0/children/0: an object",
  },
  '{"$ref":"#/components/schemas/List"}': {
    [deep(400)]: "",
    [deep(600)]: "/: a value with at most 500 arrays and objects within each other",
  },
  '{"$ref":"#/components/schemas/Wrapped"}': {
    [deep(200)]: "",
    [deep(400)]: "/: a value with at most 500 arrays and objects within each other",
  },
  '{"uniqueItems":true,"minItems":1}': {
    [deep(600)]: "/: a value with at most 500 arrays and objects within each other",
  },
  '{"$ref":"#/components/schemas/Animal"}': {
    '{"kind":"Cat","claws":1}': "",
    '{"kind":"Cat"}': '/: an object with the member "claws"',
    '{"kind":"Kitten","claws":1}': '/: an object with the member "age"',
    '{"kind":"Dog"}': '/kind: one of "Cat", "Kitten", "Animal"',
    '{"kind":"Animal"}': "",
    "{}": '/: an object with the member "kind"',
  },
  '{"$ref":"#/components/schemas/a~01b"}': { "1": "/: null", null: "" },
  '{"$ref":"#/components/schemas/Mapped"}': {
    '{"kind":"short"}': "/: a string of at most 3 characters",
    '{"kind":"Short"}': '/kind: one of "short", "long"',
  },
};

/** Ten schemas apply to each of its arrays. */
const wrapped = `${'{"allOf":['.repeat(10)}{"items":{"$ref":"#/components/schemas/Wrapped"}}${"]}".repeat(10)}`;

const components = `{
  "Wrapped": ${wrapped},
  "a~1b": {"type":"null"},
  "Short": {"type":"string","maxLength":3},
  "Tree": {"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/components/schemas/Tree"}}}},
  "List": {"type":"array","items":{"$ref":"#/components/schemas/List"}},
  "Animal": {"type":"object","required":["kind"],"properties":{"kind":{"type":"string"}},
    "discriminator":{"propertyName":"kind"}},
  "Cat": {"allOf":[{"$ref":"#/components/schemas/Animal"},{"required":["claws"]}]},
  "Kitten": {"allOf":[{"$ref":"#/components/schemas/Cat"}],"required":["age"]},
  "Mapped": {"discriminator":{"propertyName":"kind","mapping":{"short":"Short","long":"#/components/schemas/Tree"}}}
}`;

for (const [schema, values] of Object.entries(faults))
  test(`${schema} says what is wrong with a value`, async () => {
    const found = await read(schema);
    const said = Object.keys(values).map((value) => [value, faultOf(found, value)]);
    expect(Object.fromEntries(said)).toEqual(values);
  });

test("a response has no writeOnly members, and need not have them", async () => {
  const found = await read(
    '{"required":["a"],"properties":{"a":{"writeOnly":true},"b":{"readOnly":true}}}',
    "response",
  );
  expect(faultOf(found, '{"b":1}')).toBe("");
  expect(faultOf(found, '{"a":1}')).toBe('/: an object without the member "a"');
});

const long = "x".repeat(16_000);
const object = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`m${index}`, index]));

test.each<[schema: string, value: string, steps: number]>([
  ['{"format":"date"}', JSON.stringify(long), 1_000],
  ['{"maxLength":16000}', JSON.stringify(long), 2_000],
  ['{"type":"number"}', `${"1".repeat(2_000)}.5`, 1_000],
  ['{"minProperties":1}', JSON.stringify(object), 1_000],
  ['{"additionalProperties":true}', JSON.stringify(object), 1_500],
  ['{"anyOf":[{"additionalProperties":true}],"unevaluatedProperties":false}', JSON.stringify(object), 7_000],
  ['{"uniqueItems":true}', JSON.stringify([long]), 1_000],
  ['{"uniqueItems":true}', JSON.stringify([[long]]), 2_000],
  ['{"uniqueItems":true}', JSON.stringify([object]), 10_000],
  ['{"$ref":"#/components/schemas/List"}', `${"[".repeat(400)}1${"]".repeat(400)}`, 830],
])("%s takes work for what it looks at", async (schema, value, steps) => {
  const { check } = await read(schema);
  expect(() => check.fault(parseExactJson(value), new Work(steps))).toThrow(WorkExceeded);
});

/** Schemas of fields, and their words. */
const words: Readonly<Record<string, string>> = {
  '{"type":"string"}': "a string",
  '{"type":"string","minLength":1,"maxLength":5,"pattern":"^a"}':
    "a string of 1 to 5 characters that matches ^a",
  '{"type":"string","minLength":2,"maxLength":2}': "a string of 2 characters",
  '{"type":["string","null"]}': "a string or null",
  '{"enum":["a","b"]}': 'one of "a", "b"',
  '{"const":"a"}': 'one of "a"',
  '{"type":["string","null"],"enum":["a",null]}': 'one of "a" or null',
  '{"type":"integer","minimum":1}': "an integer (int64), at least 1",
  '{"type":"integer","format":"int32"}': "an integer (int32)",
  '{"type":"integer","minimum":-9223372036854775808,"multipleOf":3}':
    "an integer (int64), at least -9223372036854775808 and a multiple of 3",
  '{"type":"number"}': "a number of at most 38 digits",
  '{"type":"number","multipleOf":0.01,"exclusiveMinimum":0}':
    "a number with at most 2 digits after the point, above 0",
  '{"type":"boolean"}': "a boolean",
  '{"type":"null"}': "null",
  '{"type":"array","maxItems":2}': "an array that the contract's schema accepts",
  '{"type":"object"}': "an object that the contract's schema accepts",
  "{}": "a value that the contract's schema accepts",
  '{"allOf":[{"type":"string"},{"maxLength":5}]}': "a string of at most 5 characters",
  '{"type":"integer","minimum":1,"allOf":[{"minimum":5},{"maximum":9}],"maximum":8}':
    "an integer (int64), at least 5 and at most 8",
  '{"anyOf":[{"type":"null"},{"type":"string"}]}': "a string or null",
  '{"oneOf":[{"type":"integer"},{"type":"null"}]}': "an integer (int64) or null",
  [`{"anyOf":${JSON.stringify(Array.from({ length: 11 }, (_, index) => ({ const: index })))}}`]:
    "a value that the contract's schema accepts",
  [`{"enum":${JSON.stringify(Array.from({ length: 3000 }, (_, index) => index))}}`]:
    "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (3000 values)",
};

test("the words of a schema are those of the messages", async () => {
  const said = await Promise.all(
    Object.keys(words).map(async (schema) => [schema, (await read(schema)).check.expected]),
  );
  expect(Object.fromEntries(said)).toEqual(words);
});

test("schemas with patterns may be read at the same time", async () => {
  const schema = { type: "object", properties: { a: { pattern: "^a$" }, b: { pattern: "^b$" } } };
  const schemas = { One: schema, Two: schema, Three: { pattern: "^c$" } };
  const places = Place.root({ openapi: "3.1.0", schemas } as never).own("schemas");
  const reader = new SchemaReader("request");
  const checks = await Promise.all(Object.keys(schemas).map((name) => reader.check(places.own(name))));
  const wrong = [{ a: "x" }, { b: "x" }, "x"];
  const found = checks.map((check, index) => check.fault(wrong[index], new Work())?.expected);
  expect(found).toEqual(["a", "b", "c"].map((text) => `a string that matches ^${text}$`));
});
