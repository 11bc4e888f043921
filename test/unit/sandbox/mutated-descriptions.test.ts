// Descriptions with one member of another kind than OpenAPI has: a sandbox starts with each, responds
// to what it describes, and serves its page, or refuses it with one sentence.

import { expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { sandboxOperations } from "../../../src/sandbox/described-operations/sandbox-operation.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";

type Json = Record<string, unknown>;

const json = (schema: object, more: object = {}) => ({ "application/json": { schema, ...more } });
const pet = { $ref: "#/components/schemas/Pet" };
const ok = {
  description: "A pet.",
  headers: { "X-Total": { required: true, schema: { type: "integer" } } },
  content: json(pet, { examples: { first: { value: { id: 1, name: "a" } } } }),
  links: { again: { operationId: "create" } },
};
const failed = { description: "A fault.", content: json({ $ref: "#/components/schemas/Fault" }) };
const kinds = { oneOf: [{ $ref: "#/components/schemas/Dog" }], discriminator: { propertyName: "kind" } };
const description = {
  openapi: "3.1.0",
  info: { title: "Pets", version: "1", contact: { name: "Ada" }, license: { name: "MIT" } },
  servers: [{ url: "/{version}", variables: { version: { default: "v1", enum: ["v1"] } } }],
  tags: [{ name: "pets", externalDocs: { url: "https://example.com" } }],
  security: [{ key: [] }],
  webhooks: { born: { post: { responses: {} } } },
  paths: {
    "/pets": {
      parameters: [{ name: "X-Trace", in: "header", schema: { type: "string" } }],
      post: {
        operationId: "create",
        tags: ["pets"],
        requestBody: { required: true, content: json(pet) },
        responses: { 201: ok, 400: failed },
        callbacks: { born: {} },
        security: [{ key: [] }],
      },
      get: {
        parameters: [
          { name: "limit", in: "query", required: false, schema: { type: "integer", default: 3 } },
          { name: "name", in: "query", style: "form", explode: true, schema: { type: "string" } },
        ],
        responses: { 200: { description: "Pets.", content: json({ type: "array", items: pet }) } },
      },
    },
    "/pets/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
      get: { responses: { 200: ok, 404: { $ref: "#/components/responses/None" } } },
      patch: { requestBody: { content: json(pet) }, responses: { 200: ok } },
      delete: { responses: { 204: { description: "It is gone." } } },
    },
    "/about": {
      get: {
        parameters: [{ name: "q", in: "query", content: json({ type: "object" }) }],
        responses: { 200: { description: "A dog.", content: json({ properties: { dog: kinds } }) } },
      },
    },
  },
  components: {
    securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } },
    responses: { None: failed },
    schemas: {
      Pet: {
        type: "object",
        required: ["id", "name"],
        properties: {
          id: { type: "integer", format: "int64" },
          name: { type: "string", minLength: 1, maxLength: 5, pattern: "^a*$", enum: ["a", "aa"] },
          tags: { type: ["array", "null"], items: { type: "string" }, maxItems: 3, uniqueItems: true },
          more: { patternProperties: { "^x": {} }, additionalProperties: false, minProperties: 0 },
          secret: { writeOnly: true, anyOf: [{ type: "number", minimum: 1, multipleOf: 1 }] },
        },
      },
      Dog: { type: "object", required: ["kind"], properties: { kind: { const: "Dog" } } },
      Fault: { type: "object", properties: { code: { type: "integer" }, message: { type: "string" } } },
    },
  },
};

const odd = [null, [], {}, "x", 1, true, [null], { x: null }, -1.5, ["a", "a"], { $ref: 1 }, { $ref: "#" }];

function placesIn(value: unknown, names: readonly string[] = []): (readonly string[])[] {
  const below = Object.entries(Object(typeof value === "object" ? value : undefined));
  return [
    ...(names.length > 0 ? [names] : []),
    ...below.flatMap(([name, each]) => placesIn(each, [...names, name])),
  ];
}

function withMember([...names]: readonly string[], value: unknown): string {
  const document: Json = structuredClone(description);
  const last = names.pop() as string;
  names.reduce<Json>((found, name) => found[name] as Json, document)[last] = value;
  return JSON.stringify(document);
}

async function startWith(text: string): Promise<void> {
  const sandbox = await Sandbox.open(
    {
      contract: { text },
      token: "t",
      seed: "examples",
      rules: undefined,
      adminNames: [],
      cors: "*",
      trustedProxies: [],
    },
    () => undefined,
  );
  await using store = sandbox.store;
  const { contract } = store;
  const others = sandboxOperations(contract.document, contract.otherOperations, contract.errors.shape);
  const own = contract.collections.flatMap((each) => collectionOperations(each));
  servedDocument(contract, [...own, ...others]);
  for (const operation of others)
    await operation.respond({
      headers: new Headers({ "Content-Type": "application/json" }),
      query: "q=%7B%7D&limit=1&name=a",
      segments: { id: "1" },
      readBody: async () => new TextEncoder().encode('{"id":1,"name":"a"}'),
    });
}

/** Every so many of the mutations is tried. */
const stride = 13;

test("a sandbox starts with each, or says what is wrong", async () => {
  const mutations = placesIn(description).flatMap((names) => odd.map((value) => ({ names, value })));
  const tried = mutations.filter((_, index) => index % stride === 0);
  expect(tried.length).toBeGreaterThan(200);
  const thrown: string[] = [];
  for (const { names, value } of tried)
    await startWith(withMember(names, value)).catch((error) => {
      if (!(error instanceof OperatorError))
        thrown.push(`${names.join("/")} as ${JSON.stringify(value)}: ${error}`);
    });
  expect(thrown).toEqual([]);
});
