// Every member that OpenAPI 3.0, 3.1 and 3.2 and JSON Schema 2020-12 have, at every place where it may
// stand: each is served, checked or shown, or there is a note with its pointer.

import { describe, expect, test } from "bun:test";
import { readSingle, type SingleContract } from "../../support/contracts.ts";
import { jsonOf, objectOf } from "../../support/descriptions.ts";

type Json = Record<string, unknown>;

/**
 * Members of the objects of OpenAPI by what becomes of them: `read` has an effect on what is served,
 * `shown` is for readers and is served as it is written, and `noted` has a note.
 */
const members: Readonly<Record<string, Readonly<Record<"read" | "shown" | "noted", string>>>> = {
  document: {
    read: "openapi info servers paths components security",
    shown: "tags externalDocs $self",
    noted: "jsonSchemaDialect webhooks",
  },
  server: { read: "url variables", shown: "description name", noted: "" },
  pathItem: {
    read: "head get post parameters",
    shown: "summary description",
    noted: "put delete patch options trace query additionalOperations servers",
  },
  operation: {
    read: "operationId parameters requestBody responses security",
    shown: "tags summary description externalDocs deprecated",
    noted: "callbacks servers",
  },
  parameter: {
    read: "name in required schema",
    shown: "description deprecated allowEmptyValue style explode allowReserved example examples",
    noted: "content",
  },
  requestBody: { read: "content", shown: "description required", noted: "" },
  mediaType: {
    read: "schema example examples",
    shown: "",
    noted: "encoding prefixEncoding itemEncoding itemSchema",
  },
  response: { read: "content headers", shown: "summary description links", noted: "" },
  header: {
    read: "schema",
    shown: "description required deprecated style explode example examples",
    noted: "content",
  },
  example: {
    read: "value",
    shown: "summary description dataValue serializedValue",
    noted: "externalValue",
  },
};

/** Values for members, where `{}` would be wrong. */
const values: Readonly<Record<string, unknown>> = {
  $self: "https://example.com/",
  content: { "application/json": { schema: { type: "string" } } },
  parameters: [],
  security: [],
  servers: [{ url: "/" }],
  tags: [],
  additionalOperations: { COPY: { responses: {} } },
  examples: {},
  variables: {},
};

/** A description with an object of each kind, and the object of one kind. */
function describedWith(version: string) {
  const schema = objectOf({ id: { type: "integer" }, name: { type: "string" } }, ["id"]);
  const example: Json = { value: { id: 1, name: "n" } };
  const mediaType: Json = { schema, examples: { one: example } };
  const parameter: Json = { name: "limit", in: "query", schema: { type: "integer" } };
  const header: Json = { schema: { type: "string" } };
  const response: Json = {
    description: "ok",
    ...jsonOf(schema),
    headers: { Location: header },
  };
  const requestBody: Json = { content: { "application/json": mediaType } };
  const operation: Json = { requestBody, responses: { 200: response } };
  const get: Json = {
    parameters: [parameter],
    responses: { 200: { description: "ok", ...jsonOf({ type: "array", items: schema }) } },
  };
  const pathItem: Json = { post: operation, get };
  const server: Json = { url: "/v1" };
  const document: Json = {
    openapi: version,
    info: { title: "Things", version: "1" },
    servers: [server],
    paths: { "/things": pathItem },
    security: [{ token: [] }],
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
  };
  const objects: Record<string, Json> = {
    document,
    server,
    pathItem,
    operation,
    parameter,
    requestBody,
    mediaType,
    response,
    header,
    example,
  };
  return { document, objects };
}

/** The contract of a description in which the object of a kind has a member. */
async function withMember(
  kind: string,
  name: string,
  value: unknown,
  version = "3.2.0",
): Promise<SingleContract> {
  const { document, objects } = describedWith(version);
  const object = objects[kind] as Json;
  object[name] ??= value;
  return readSingle({ text: JSON.stringify(document) });
}

const words = (text: string) => text.split(" ").filter((word) => word !== "");

for (const [kind, { read, shown, noted }] of Object.entries(members))
  describe(kind, () => {
    test.each(words(`${read} ${shown}`))("%s has no note", async (name) => {
      const { notes } = await withMember(kind, name, values[name] ?? {});
      expect(notes).toEqual([]);
    });

    test.each(words(noted))("%s has a note with its pointer", async (name) => {
      const { notes } = await withMember(kind, name, values[name] ?? { "/": {} });
      expect(notes).toHaveLength(1);
      expect(notes[0]).toMatch(new RegExp(`\\(at /?.*${name}(?:/COPY)?\\)$`));
    });

    test("a misspelt member has a note with its pointer, and an extension none", async () => {
      const { notes } = await withMember(kind, "descripton", "A thing.");
      expect(notes).toEqual([
        expect.stringMatching(/^the member "descripton" is not known, .*\/descripton\)$/),
      ]);
      expect((await withMember(kind, "x-note", {})).notes).toEqual([]);
    });
  });

test.each(["3.0.3", "3.1.0", "3.2.0"])("a plain description of %s has no note", async (version) => {
  const { document } = describedWith(version);
  expect((await readSingle({ text: JSON.stringify(document) })).notes).toEqual([]);
});

test("the schema of an id in a path, if it is not that of the id, has a note", async () => {
  const noteOf = async (schema: Json) => {
    const { document, objects } = describedWith("3.1.0");
    const item = {
      parameters: [{ name: "id", in: "path", required: true, schema }],
      get: { responses: { 200: { description: "ok", ...jsonOf({ type: "object" }) } } },
    };
    document.paths = { "/things": objects.pathItem, "/things/{id}": item };
    return (await readSingle({ text: JSON.stringify(document) })).notes;
  };
  expect(await noteOf({ type: "integer", description: "The id." })).toEqual([]);
  expect(await noteOf({ type: "integer", minimum: 5 })).toEqual([
    "the schema of a parameter of the path is not checked; an id is what the resource has (at /paths/~1things~1{id}/parameters/0/schema)",
  ]);
});
