// Descriptions whose members are null, as YAML has a name alone, or of another kind than expected.

import { expect, test } from "bun:test";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { settled } from "../../support/settled.ts";

type Json = Record<string, unknown>;

const content = { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } };
const ok = { description: "A pet.", content };
const description = {
  openapi: "3.1.0",
  info: { title: "Pets", version: "1" },
  servers: [{ url: "/v1" }],
  tags: [{ name: "pets" }],
  paths: {
    "/pets": {
      post: { requestBody: { content }, responses: { 200: ok } },
      get: {
        parameters: [{ name: "limit", in: "query", schema: { type: "integer" } }],
        responses: { default: { description: "Pets.", content: { "application/json": {} } } },
      },
    },
    "/pets/{id}": { parameters: [], get: { responses: { 200: ok } } },
  },
  components: {
    schemas: {
      Pet: { type: "object", required: ["id"], properties: { id: { type: "integer" } } },
      Other: {},
    },
  },
};

const post = ["paths", "/pets", "post"];
const get = ["paths", "/pets", "get"];
const cases: readonly (readonly [names: readonly string[], value: unknown])[] = [
  ...[null, undefined, [], "x"].map((value) => [["info"], value] as const),
  ...[null, {}, "x", [null]].map((value) => [["servers"], value] as const),
  ...[null, "x", {}].map((value) => [["tags"], value] as const),
  ...[null, [null]].map((value) => [["security"], value] as const),
  ...[null, [], "x"].map((value) => [["components", "schemas", "Other"], value] as const),
  [["components", "schemas", "Other"], { properties: [null] }],
  [["components", "securitySchemes"], null],
  ...[null, [null], "x"].map((value) => [[...get, "parameters"], value] as const),
  [["paths", "/pets/{id}", "parameters"], [null]],
  [get, null],
  [[...get, "responses"], null],
  [[...get, "responses", "default"], null],
  [[...get, "responses", "default", "content", "application/json"], null],
  ...[null, [], 1].map((value) => [[...post, "responses", "200", "description"], value] as const),
  [[...post, "responses"], null],
  [[...post, "requestBody", "content", "application/json", "examples"], null],
  [["components", "schemas", "Pet", "properties", "name"], { type: "string", examples: 1 }],
];

/** Keywords of the kinds that no schema has. */
const oddKeywords: readonly Json[] = [
  ...[{}, "x", 1, null].map((value) => ({ enum: value })),
  ...[{}, [1], null].map((value) => ({ pattern: value, minLength: value })),
  ...["x", {}, null].map((value) => ({ minimum: value, multipleOf: value, maxLength: value })),
  ...[1, "x", {}].map((value) => ({ type: ["string", "object"], required: value, properties: value })),
];

test.each(oddKeywords)("a sandbox checks what it can of a schema with %j", async (keywords) => {
  const text = withMember(["components", "schemas", "Pet", "properties", "name"], {
    type: "string",
    ...keywords,
  });
  const contract = await readContract({ text }, { isLenient: true });
  expect(contract.collections).toHaveLength(1);
  expect(contract.notes.join("\n")).toContain("so that this is not checked");
});

function withMember(names: readonly string[], value: unknown): string {
  const document: Json = structuredClone(description);
  const [last, ...parents] = names.toReversed() as [string, ...string[]];
  const parent = parents.toReversed().reduce((found, name) => found[name] as Json, document);
  parent[last] = value;
  return JSON.stringify(document);
}

test.each(cases)("is served with %j as %j", async (names, value) => {
  const contract = await readContract({ text: withMember(names, value) });
  const operations = contract.collections.flatMap((collection) => collectionOperations(collection));
  expect(Object.keys(servedDocument(contract, operations).paths)).toEqual(["/pets", "/pets/{id}"]);
});

test.each([
  [["paths"], "it has no POST whose body is the resource (at /paths)"],
  [["components"], "the reference #/components/schemas/Pet has no target"],
  [["components", "schemas", "Pet"], "it is not the schema of an object with properties"],
])("is refused with %j as null", async (names, reason) => {
  expect(await settled(readContract({ text: withMember(names, null) }))).toThrow(reason);
});
