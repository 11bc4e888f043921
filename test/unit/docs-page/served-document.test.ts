// The contract of any author as it is served: valid OpenAPI with what the server adds, and with
// everything that the author wrote.

import { describe, expect, test } from "bun:test";
import { type SchemaObject, validate as validate30 } from "@hyperjump/json-schema/openapi-3-0";
import { validate as validate31 } from "@hyperjump/json-schema/openapi-3-1";
import { pageHtml } from "../../../src/docs-page/page-html.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { toExactJson } from "../../../src/json/exact-json.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { operationNames } from "../../../src/plants/operation-settings.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { plantStore, readSingle } from "../../support/contracts.ts";

const [parcels, codes, pets, estate] = await Promise.all([
  readFile("parcels.yaml"),
  readFile("codes.yaml"),
  readFile("pets.yaml"),
  readFile("estate.yaml"),
]);

async function readFile(name: string) {
  return await readSingle({ text: await Bun.file(contractFile(name)).text() });
}

const markup = `<script>alert(1)</script>"'&`;

/**
 * References everywhere, names that are keywords of OpenAPI, markup in every text, an own error.
 */
const awkward = await readSingle({
  text: JSON.stringify({
    openapi: "3.1.0",
    info: {
      title: markup,
      version: markup,
      description: `${markup}\n\n## Token\n\n${markup}\n\n## Errors\n\nMine.`,
      license: { name: markup, identifier: "Apache-2.0" },
    },
    webhooks: { sent: { post: { responses: { 200: { description: "Received." } } } } },
    paths: {
      "/it's $(x)": {
        parameters: [{ $ref: "#/components/parameters/Locale" }],
        post: {
          operationId: markup,
          summary: markup,
          description: markup,
          requestBody: { $ref: "#/components/requestBodies/Body" },
          responses: {
            201: { $ref: "#/components/responses/Created" },
            400: { $ref: "#/components/responses/Bad" },
            401: { description: "An error of another shape." },
          },
        },
      },
      "/it's $(x)/{the-id}": {
        get: {
          "x-codeSamples": [{ lang: "Go", source: "own()" }],
          responses: { 200: { $ref: "#/components/responses/Created" } },
        },
        patch: { operationId: "change", responses: { 200: { description: "Changed." } } },
      },
    },
    components: {
      parameters: { Locale: { name: markup, in: "query", description: markup, schema: { type: "string" } } },
      requestBodies: {
        Body: {
          content: {
            "application/json; charset=utf-8": {
              schema: { $ref: "#/components/schemas/New" },
              examples: { schema: { $ref: "#/components/examples/First" } },
            },
          },
        },
      },
      examples: {
        First: {
          value: { id: 3, [markup]: markup, identifier: "MIT", type: ["x", "null"], examples: ["e"] },
        },
      },
      responses: {
        Created: {
          description: markup,
          headers: { Location: { schema: { type: "string" } } },
          content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
        },
        Bad: {
          description: "It is wrong.",
          content: { "application/json": { schema: { $ref: "#/components/schemas/schema" } } },
        },
      },
      schemas: {
        New: {
          allOf: [{ $ref: "#/components/schemas/Thing" }, { properties: { other: { type: "boolean" } } }],
        },
        Thing: {
          type: "object",
          $comment: "Not in 3.0.",
          required: ["id", markup],
          properties: {
            id: { type: "integer", format: "int64" },
            [markup]: { type: "string", description: markup, default: markup, examples: [markup] },
            identifier: { type: "string", pattern: "^[A-Z]<*$", examples: ["MIT"] },
            type: { type: "array", items: { type: ["string", "null"] } },
            examples: { type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } },
            properties: { type: "integer", exclusiveMinimum: 0, examples: [3] },
            kind: { type: "string", enum: [markup, "b"] },
          },
        },
        schema: {
          type: "object",
          required: ["error"],
          properties: { error: { type: "integer" }, message: { type: "string" } },
        },
      },
    },
  }),
});

const books = await readSingle({
  text: `
openapi: 3.0.1
info: { title: Books, version: "1" }
paths:
  /books:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [id, title]
              properties: { id: { type: integer, format: int64 }, title: &text { type: string }, by: *text }
            example: { id: 9, title: Emma }
      responses:
        "201": { description: Stored. }
        default:
          description: A failure.
          content: { application/json: { schema: { type: object, properties: { oops: *text } } } }`,
});

const contracts = { plants: plantStore, parcels, awkward, books, codes, pets, estate };

type Contract = typeof plantStore;

function serve(contract: Contract, names: readonly string[] = ["list", "delete"]) {
  const operations = contract.collections.flatMap((each) => collectionOperations(each, names));
  // As it is sent, without parts that are shared.
  const description = servedDocument(contract, operations);
  return JSON.parse(toExactJson(description)) as typeof description;
}

describe.each(Object.entries(contracts))("the contract of %s as it is served", (_, collection) => {
  const served = serve(collection);

  test("is valid in the version of OpenAPI that it is written in", async () => {
    const all = serve(collection, operationNames);
    const { valid } = all.openapi.startsWith("3.0")
      ? await validate30("https://spec.openapis.org/oas/3.0/schema", all as unknown as SchemaObject)
      : await validate31("https://spec.openapis.org/oas/3.1/schema-base", all as unknown as SchemaObject);
    expect({ version: all.openapi, valid }).toEqual({
      version: collection.document.openapi as string,
      valid: true,
    });
  });

  test("is the same when it is a contract itself", async () => {
    expect(serve(await readSingle({ text: JSON.stringify(served) }))).toEqual(served);
  });
});

test("failures and header fields are added in the words of the contract", () => {
  const { paths, components } = serve(parcels, []);
  const { post } = paths["/parcels"] ?? {};
  expect(post?.responses["201"]?.headers).toHaveProperty("X-Request-Id");
  expect(components.headers).toHaveProperty("X-Request-Id");
  const { conflict } = post?.responses["400"]?.content?.["application/json"]?.examples ?? {};
  expect(conflict?.value).toEqual({
    error: 40009,
    message: "The id 1 already holds a different parcel, which is unchanged; choose another id.",
  });
  expect(components.schemas.Parcel?.properties).toMatchObject({
    sender: { pattern: "^[^\\x00]*$", examples: ["Ada Lovelace"] },
    reference: { pattern: "^[A-Z]{2}-[0-9]{4}$" },
  });
  expect(Object.keys(post?.responses ?? {}).join(" ")).toBe(
    "201 400 401 404 405 408 413 415 429 500 503 default",
  );
  const list = paths["/parcels"]?.get;
  expect(list?.responses["200"]?.headers).toHaveProperty("Link");
  expect(list?.parameters?.map(({ name }) => name)).toEqual(["sender", "limit", "after"]);
  const one = paths["/parcels/{parcelId}"];
  expect(Object.keys(paths)).toEqual(["/parcels", "/parcels/{parcelId}"]);
  expect(one?.get?.parameters ?? []).toEqual([]);
  expect(one?.get?.responses["404"]?.description).toContain("or no parcel with this id");
  expect(Object.keys(one?.put?.responses ?? {})).toEqual(["200", "401", "501", "default"]);
  expect(one?.put?.responses["501"]?.description).toContain("50100");
});

test("each collection has its operations and errors, in its own words", () => {
  const { paths, info } = serve(estate, []);
  const messageOf = (path: string, method: string, name: string) => {
    const examples = Object.values(paths[path]?.[method]?.responses ?? {}).flatMap(({ content }) =>
      Object.entries(content?.["application/json"]?.examples ?? {}),
    );
    return (Object.fromEntries(examples)[name]?.value as { message?: string } | undefined)?.message;
  };
  expect(messageOf("/parcels", "post", "conflict")).toContain("already holds a different parcel");
  expect(messageOf("/couriers", "post", "conflict")).toContain("already holds a different courier");
  expect(messageOf("/special-events", "post", "conflict")).toContain("special event");
  expect(messageOf("/couriers", "post", "notFound")).toStartWith("There is nothing at /courier;");
  expect(paths["/couriers/{courierId}"]?.get?.responses["404"]?.description).toContain("no courier with");
  expect(messageOf("/search", "post", "notImplemented")).toContain("/parcels, /couriers, /special-events");
  expect(messageOf("/search", "post", "conflict")).toBeUndefined();
  const keys = (path: string) => paths[path]?.post?.parameters?.map(({ name }) => name);
  expect([keys("/parcels"), keys("/special-events")]).toEqual([undefined, ["Idempotency-Key"]]);
  expect(paths["/couriers"]?.get?.tags).toEqual(["couriers"]);
  expect(info.description).toContain("Where the body has the id, creates are idempotent");
  expect(info.description).toContain("Where the server chooses it, sending the same resource again");
});

test("the next page of a list has the base path, and an id as the contract has them", async () => {
  const contract = await readFile("hotel.yaml");
  const operations = contract.collections.flatMap((each) => collectionOperations(each));
  const served = JSON.stringify(servedDocument(contract, operations, "/api/v1"));
  expect(served).toContain("</api/v1/rooms?limit=100&offset=100>");
  expect(served).toContain("</api/v1/guests?pageSize=100&page=2>");
  expect(served).toMatch(/<\/api\/v1\/bookings\?limit=100&cursor=[\da-f-]{36}>/);
});

test("a description of other operations alone is served, and is a page", () => {
  const { paths } = estate.document;
  const document = { ...estate.document, paths: { "/search": paths?.["/search"] ?? {} } };
  const none = { ...estate, document, collections: [] };
  const search = { method: "POST", path: "/search", operationId: "search" } as const;
  const operation = { ...search, isServed: false, advice: "", run: async () => undefined };
  const unserved = servedDocument(none, []);
  expect(unserved.paths["/search"]?.post?.responses).toHaveProperty("501");
  expect(unserved.info.description).toContain("Use a path of the description at `/openapi.json`");
  const contract = { ...none, otherOperations: [] };
  const served = servedDocument(contract, [operation]);
  for (const description of [unserved, served]) expect(pageHtml(description, "")).toContain("data-schemes=");
});

test("what the author wrote is kept, and merged with what the server adds", () => {
  const { info, paths } = serve(awkward, []);
  const { post } = paths["/it's $(x)"] ?? {};
  expect(Object.keys(post?.responses["201"]?.headers ?? {})).toEqual([
    "X-Request-Id",
    "RateLimit",
    "RateLimit-Policy",
    "Location",
  ]);
  expect(post?.responses["400"]).toMatchObject({
    description: expect.stringMatching(/^It is wrong\.\n\nThe request is invalid\./),
    content: { "application/json": { schema: { $ref: "#/components/schemas/schema" } } },
  });
  expect(post?.responses["401"]).toEqual({ description: "An error of another shape." });
  expect(info.description.match(/^## .*$/gm)).toEqual(["## Token", "## Errors", "## Tokens"]);
  const { get, patch } = paths["/it's $(x)/{the-id}"] ?? {};
  expect(get?.parameters?.map(({ name, in: place }) => [name, place])).toEqual([["the-id", "path"]]);
  expect(get).toHaveProperty("x-codeSamples", [{ lang: "Go", source: "own()" }]);
  expect(patch?.responses).toHaveProperty("501");

  const { default: failure } = serve(books).paths["/books"]?.post?.responses ?? {};
  expect(failure?.description).toBe("A failure.");
});

test("a part of YAML that stands at two places is changed at one of them", () => {
  const { post } = serve(books).paths["/books"] ?? {};
  expect(post?.requestBody?.content["application/json"]).toMatchObject({
    schema: { properties: { title: { pattern: "^[^\\x00]*$" } } },
    example: { id: 9, title: "Emma" },
  });
  expect(post?.responses.default?.content?.["application/json"]?.schema).toEqual({
    type: "object",
    properties: { oops: { type: "string" } },
  });
});
