// What clients send is parsed once, and its numbers keep their digits and their form.

import { beforeEach, expect, spyOn, test } from "bun:test";
import { ApiError } from "../../../src/base/errors.ts";
import type { Collection, EditBody, Plant } from "../../../src/contract/contract.ts";
import { parsePlantJson, plantJson } from "../../../src/contract/plant.ts";
import { anyValue } from "../../../src/contract/schema-check.ts";
import { toExactJson } from "../../../src/json/exact-json.ts";
import { SentJson } from "../../../src/json/sent-json.ts";
import { editedPlant, parseEdit } from "../../../src/plants/edit-plant.ts";
import { readSingle } from "../../support/contracts.ts";

const parse = spyOn(JSON, "parse");
beforeEach(() => parse.mockClear());

const shape = {
  type: "object",
  properties: { sizes: { type: "array", uniqueItems: true, items: { type: "number", maximum: 99 } } },
};
const schema = {
  type: "object",
  required: ["id", "name"],
  // Says more than its properties do, so that the whole body is checked.
  minProperties: 2,
  properties: {
    id: { type: "integer" },
    name: { type: "string", maxLength: 9 },
    price: { type: "number", minimum: 0 },
    shape,
  },
};
const content = { "application/json": { schema } };
const post = { requestBody: { content }, responses: { 200: { description: "ok", content } } };
const collection: Collection = await readSingle({
  text: JSON.stringify({ openapi: "3.1.0", info: { title: "A", version: "1" }, paths: { "/a": { post } } }),
});
const body: EditBody = {
  name: "Patch",
  members: ["name", "price", "shape"],
  wrapper: undefined,
  ignored: [],
  check: anyValue,
};

/** The texts that were parsed, but for names and scalars. */
const parsedTexts = () => parse.mock.calls.map(([text]) => text).filter((text) => /^[[{]/.test(text));

function created(json: string): string {
  const plant = parsePlantJson(collection, json);
  return plant instanceof ApiError ? plant.message : plantJson(collection, plant);
}

test("a create whose whole body is checked is parsed once", () => {
  const json = '{"id":7,"name":"Bolt","price":19.5,"shape":{"sizes":[1.5,2]}}';
  expect(created(json)).toBe(json);
  expect(parsedTexts()).toEqual([json]);
});

test.each([
  '{"id":9223372036854775807,"name":"Bolt","price":19.90,"shape":{"sizes":[1.50,1e1,-0,0.10]}}',
  '{"id":7,"name":"1.50","price":12345678901234567890.10}',
  '{"id":9007199254740993,"name":"a"}',
])("numbers keep their digits and their form: %s", (json) => {
  expect(created(json)).toBe(json);
});

test("numbers of another form are equal, and within limits", () => {
  expect(created('{"id":1,"name":"a","shape":{"sizes":[1.0,2,1]}}')).toContain(
    "without equal items, such as those at 0 and 2",
  );
  expect(created('{"id":1,"name":"a","shape":{"sizes":[1e2]}}')).toContain("at most 99");
});

test("each field at fault is named where the whole body is checked", () => {
  const message = created('{"id":1.5,"name":"0123456789","price":-1.0,"shape":{"sizes":["x"]}}');
  for (const part of [
    '"id" must be an integer (int64), but is the number 1.5',
    '"name" must be a string of at most 9 characters, but is "0123456789"',
    '"price" must be a number',
    "(/sizes/0 must be a number",
  ])
    expect(message).toContain(part);
});

test("a patch is parsed once, and what it merges keeps its digits", () => {
  const stored = parsePlantJson(
    collection,
    '{"id":7,"name":"Bolt","price":1.10,"shape":{"a":1.50,"b":9007199254740993}}',
  ) as Plant;
  parse.mockClear();
  const patch = '{"name":"Nut","shape":{"b":null,"c":{"d":2.00,"e":null}}}';
  const sent = parseEdit(collection, body, "change", Buffer.from(patch), 7n) as SentJson;
  const edited = editedPlant(collection, body, "change", sent, stored, 7n) as Plant;
  expect(plantJson(collection, edited)).toBe(
    '{"id":7,"name":"Nut","price":1.10,"shape":{"a":1.50,"c":{"d":2.00}}}',
  );
  // Once plainly, and once for its 2.00.
  expect(parsedTexts().filter((text) => text.includes("Nut"))).toHaveLength(2);
});

test.each(["[1.0,-0,1e3,19.90,12345678901234567890,0.1,-0.5]", '{"a":[{"b":1.00}]}'])(
  "%s is written as it was sent",
  (json) => {
    const sent = SentJson.parse(json, () => []) as SentJson;
    expect(toExactJson(sent.exact())).toBe(json);
  },
);
