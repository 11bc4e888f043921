// A schema that cannot be checked wholly: a sandbox checks what it can, and says what it cannot.
// `serve` refuses it.

import { expect, test } from "bun:test";
import { sandboxOfThings } from "../../support/contract-sandbox.ts";
import { jsonOf, objectOf, refusalOf, thingsDocument } from "../../support/descriptions.ts";

const lookAhead = { type: "string", pattern: "^(?=a)", maxLength: 3 };
const body = {
  ...objectOf(
    {
      id: { type: "integer" },
      code: lookAhead,
      missing: { $ref: "#/components/schemas/None" },
      inner: objectOf({ odd: { type: "strin", minLength: 2 }, count: { type: "integer" } }, ["count"]),
      known: {
        ...objectOf({ a: { type: "integer" } }),
        patternProperties: { "(?=b)": { type: "string" }, "^c": { type: "boolean" } },
      },
      recursive: { $dynamicRef: "#none", type: "object", minProperties: 1 },
    },
    ["id", "code"],
  ),
};
const described = { body, response: objectOf({ id: { type: "integer" } }) };

test("a collection keeps all other checks, and each reason is a line with its pointer", async () => {
  await using things = await sandboxOfThings(described);
  const schema = "/paths/~1things/post/requestBody/content/application~1json/schema/properties";
  const notes = things.collection.notes.filter((note) => note.includes("this is not checked"));
  expect(notes.toSorted()).toEqual([
    expect.stringContaining(`(at ${schema}/recursive/$dynamicRef)`),
    expect.stringContaining(`(at ${schema}/known/patternProperties/(?=b))`),
    expect.stringContaining(`(at ${schema}/code/pattern)`),
    expect.stringContaining(`None has no target, so that this is not checked (at ${schema}/missing)`),
    expect.stringContaining(`(at ${schema}/inner/properties/odd/type)`),
  ]);
  const create = async (own: object) =>
    (await things.request("POST", "/things", JSON.stringify({ id: 1, code: "b", ...own }))).status;
  for (const wrong of [
    { code: "long" },
    { code: 1 },
    { inner: {} },
    { inner: { count: "1" } },
    { inner: { count: 1, odd: "x" } },
    { known: { a: "1" } },
    { known: { c: 1 } },
    { recursive: {} },
  ])
    expect([wrong, await create(wrong)]).toEqual([wrong, 400]);
  expect(await create({ missing: [1], inner: { count: 1, odd: "xy" }, known: { b: 1, c: true } })).toBe(200);
});

test("an operation without a collection keeps its other checks, too", async () => {
  const parameters = [
    { name: "q", in: "query", required: true, schema: lookAhead },
    { name: "r", in: "query", schema: { allOf: [{ $ref: "#/none" }, { type: "integer" }] } },
  ];
  const search = {
    parameters,
    requestBody: jsonOf(objectOf({ a: lookAhead, b: { type: "integer" } }, ["b"])),
    responses: { 200: jsonOf({ const: 1 }) },
  };
  const paths = { ...(thingsDocument({}).paths as object), "/search": { post: search } };
  await using things = await sandboxOfThings({ more: { paths } });
  const status = async (query: string, body: string) =>
    (await things.request("POST", `/search${query}`, body)).status;
  expect(await status("?q=b&r=1", '{"a":"b","b":1}')).toBe(200);
  for (const [query, sent] of [
    ["", '{"b":1}'],
    ["?q=long", '{"b":1}'],
    ["?q=b&r=x", '{"b":1}'],
    ["?q=b", "{}"],
    ["?q=b", '{"a":1,"b":1}'],
    ["?q=b", "{"],
  ] as const)
    expect([query, sent, await status(query, sent)]).toEqual([query, sent, 400]);
});

test("serve refuses it", async () => {
  expect(await refusalOf(described)).toContain("/code/pattern)");
});
