// Every keyword is checked, an annotation, or named: in a note, or in the error that refuses the schema.

import { expect, test } from "bun:test";
import { Work } from "../../../../src/contract/schema-check.ts";
import { parseExactJson } from "../../../../src/json/exact-json.ts";
import { Place } from "../../../../src/openapi/document/place.ts";
import { checkedKeywords } from "../../../../src/openapi/schema/keywords.ts";
import { annotationKeywords } from "../../../../src/openapi/schema/restrictions.ts";
import { SchemaReader } from "../../../../src/openapi/schema/schema-reader.ts";
import { settled } from "../../../support/settled.ts";

const rootOf = (schema: string, version = "3.1.0", components = "{}") =>
  Place.root(
    parseExactJson(
      `{"openapi":"${version}","schema":${schema},"components":{"schemas":${components}}}`,
    ) as never,
  );

/** What reading a schema says: its notes and its error, without the places' common beginning. */
async function said(...described: Parameters<typeof rootOf>): Promise<string[]> {
  const root = rootOf(...described);
  const sentences: string[] = [];
  try {
    await new SchemaReader("request").check(root.own("schema"));
  } catch (error) {
    sentences.push((error as Error).message.replace("the contract cannot be served: ", ""));
  }
  return [...root.notes, ...sentences];
}

async function accepts(value: string, ...described: Parameters<typeof rootOf>): Promise<boolean> {
  const check = await new SchemaReader("request").check(rootOf(...described).own("schema"));
  return check.fault(parseExactJson(value), new Work()) === undefined;
}

/** All keywords of the vocabularies of https://json-schema.org/draft/2020-12. */
const vocabularies = `
  $schema $id $anchor $dynamicAnchor $ref $dynamicRef $comment $defs $vocabulary allOf anyOf
  oneOf not if then else dependentSchemas prefixItems items contains properties patternProperties
  additionalProperties propertyNames unevaluatedItems unevaluatedProperties type enum const
  multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern
  maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required
  dependentRequired title description default deprecated readOnly writeOnly examples format
  contentEncoding contentMediaType contentSchema`
  .trim()
  .split(/\s+/);

test("every keyword of JSON Schema 2020-12 is checked or an annotation, or refused", async () => {
  const others = vocabularies.filter(
    (keyword) => !checkedKeywords.includes(keyword) && !annotationKeywords.includes(keyword),
  );
  expect(others).toEqual(["$dynamicRef"]);
  expect(await said('{"$dynamicRef":"#a"}')).toEqual([
    "the keyword $dynamicRef is not supported (at /schema/$dynamicRef)",
  ]);
  // A number is wrong for all but these.
  const numeric = ["const", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
  for (const keyword of checkedKeywords) {
    expect([keyword, (await said(`{${JSON.stringify(keyword)}:-1}`)).length]).toEqual([
      keyword,
      numeric.includes(keyword) ? 0 : 1,
    ]);
  }
});

test("a keyword that is not known is named at its place, also below others", async () => {
  expect(await said('{"maxlength":1,"x-more":1,"items":{"anyOf":[{"nullable":true}]}}')).toEqual([
    'the keyword "maxlength" is not known, and not checked (at /schema)',
    'the keyword "nullable" is not known, and not checked (at /schema/items/anyOf/0)',
  ]);
});

test("properties are not taken for keywords, and values not for schemas", async () => {
  const properties = Object.fromEntries(
    [...checkedKeywords, ...annotationKeywords, "__proto__", "maxlength"].map((name) => [
      name,
      { type: "string" },
    ]),
  );
  expect(await said(JSON.stringify({ properties, default: { pattern: "(?=x)" } }))).toEqual([]);
  expect(await said('{"enum":[{"$ref":"#/nowhere","pattern":1}],"example":{"type":"no"}}')).toEqual([]);
});

test("a format that is not checked is noted, also one of another type", async () => {
  expect(await said('{"type":"string","format":"color"}')).toEqual([
    "the format color is not checked (at /schema)",
  ]);
  expect(await said('{"type":"string","format":"int64"}')).toEqual([
    "the format int64 is not checked (at /schema)",
  ]);
  expect(await said('{"type":"integer","format":"date"}')).toEqual([
    "the format date is not checked (at /schema)",
  ]);
  for (const format of ["password", "binary"])
    expect(await said(`{"type":"string","format":"${format}"}`)).toEqual([]);
});

test("a value of the wrong kind is an error at its keyword", async () => {
  const wrong: Readonly<Record<string, string>> = {
    '{"minLength":"3"}': "minLength must be a number (at /schema/minLength)",
    '{"maxItems":-1}': "maxItems must be a whole number (at /schema/maxItems)",
    '{"maxLength":1.5}': "maxLength must be a whole number (at /schema/maxLength)",
    '{"multipleOf":0}': "multipleOf must be above 0 (at /schema/multipleOf)",
    '{"required":true}': "required must be an array of strings (at /schema/required)",
    '{"items":[{}]}': "items must be a schema; a list of them is prefixItems (at /schema/items)",
    '{"exclusiveMinimum":true}': "exclusiveMinimum must be a number (at /schema/exclusiveMinimum)",
    '{"type":"text"}':
      "type must be one of null, boolean, string, number, array, object, integer, or an array of them (at /schema/type)",
    '{"properties":{"a":1}}': "a schema must be an object (at /schema/properties/a)",
    '{"$ref":"#/nowhere"}': "the reference #/nowhere has no target (at /schema)",
    '{"$ref":"other.yaml"}':
      "the reference other.yaml leads to nothing in the folder of the contract or below it; npx @redocly/cli bundle FILE -o bundled.yaml puts all files into one (at /schema)",
    '{"pattern":"(?=a)"}':
      "the pattern (?=a) is not one of RE2, which takes linear time: it has look-around (at /schema/pattern)",
    '{"discriminator":{"propertyName":"k","mapping":{"a":"Nowhere"}}}':
      "the schema Nowhere has no target (at /schema/discriminator/mapping/a)",
    '{"allOf":[{"$ref":"#/schema"}]}':
      "its schemas refer to each other for the same value, without end (at /schema)",
    '{"$ref":"#/schema","minLength":1}': "the reference #/schema is a cycle (at /schema)",
    [`${'{"not":'.repeat(300)}{}${"}".repeat(300)}`]: `its schemas are nested too deeply (at /schema${"/not".repeat(201)})`,
  };
  const found = await Promise.all(
    Object.keys(wrong).map(async (schema) => [schema, (await said(schema)).join()]),
  );
  expect(Object.fromEntries(found)).toEqual(wrong);
  const nested = (inner: string) => `${'{"not":'.repeat(150)}${inner}${"}".repeat(150)}`;
  const deep = '{"$ref":"#/components/schemas/Deep"}';
  expect(await said(`{"allOf":[${deep},${nested(deep)}]}`, "3.1.0", `{"Deep":${nested("{}")}}`)).toEqual([
    expect.stringContaining("nested too deeply"),
  ]);
});

test("a schema that is wrong is an error for each schema that leads to it, and for no other", async () => {
  const root = Place.root({
    openapi: "3.1.0",
    wrong: { items: { $ref: "#/other/properties/a" } },
    other: { properties: { a: { type: "no" } } },
    right: { type: "string" },
  });
  const reader = new SchemaReader("request");
  for (const name of ["wrong", "other", "wrong"])
    expect(await settled(reader.check(root.own(name)))).toThrow("(at /other/properties/a/type)");
  expect((await reader.check(root.own("right"))).expected).toBe("a string");
});

test("OpenAPI 3.0 has nullable, booleans for exclusive limits, and ignores what is beside a reference", async () => {
  const text = '{"Text":{"type":"string"}}';
  const accepted: readonly (readonly [schema: string, value: string, accepts: boolean])[] = [
    ['{"type":"string","nullable":true}', "null", true],
    ['{"type":"string","enum":["a"],"nullable":true}', "null", true],
    ['{"nullable":true,"allOf":[{"$ref":"#/components/schemas/Text"}]}', "null", true],
    ['{"nullable":true,"allOf":[{"$ref":"#/components/schemas/Text"}]}', "1", false],
    ['{"type":"string"}', "null", false],
    ['{"minimum":1,"exclusiveMinimum":true}', "1", false],
    ['{"minimum":1,"exclusiveMinimum":false}', "1", true],
    ['{"$ref":"#/components/schemas/Text","maxLength":1}', '"ab"', true],
  ];
  for (const [schema, value, expected] of accepted)
    expect([schema, value, await accepts(value, schema, "3.0.3", text)]).toEqual([schema, value, expected]);
  expect(
    await said(
      '{"$ref":"#/components/schemas/Text","nullable":true,"readOnly":true,"description":""}',
      "3.0.3",
      text,
    ),
  ).toEqual([
    'the keyword "nullable" beside $ref is ignored, as in OpenAPI 3.0 (at /schema)',
    'the keyword "readOnly" beside $ref is ignored, as in OpenAPI 3.0 (at /schema)',
  ]);
});
