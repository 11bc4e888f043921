// Bodies of PUT and PATCH have schemas of their own; what they make must fit that of POST.

import { expect, test } from "bun:test";
import { readSingle, type SingleContract } from "../../support/contracts.ts";

const name = { type: "string", maxLength: 9 };
const tag = { type: "string" };
const response = { 200: { description: "It is stored." } };
const bodyOf = (schema: object) => ({ content: { "application/json": { schema } } });

/** Reads a description with these paths. */
function readPaths(paths: object): Promise<SingleContract> {
  const info = { title: "A", version: "1" };
  return readSingle({ text: JSON.stringify({ openapi: "3.1.0", info, paths }) });
}

async function noteOf(
  method: "put" | "patch",
  schema: object,
  responses: object = response,
  wanted = / \/a\/\{id\} /,
) {
  const created = {
    type: "object",
    required: ["id", "name"],
    properties: { id: { type: "string" }, name, tag, seen: { type: "string", readOnly: true } },
  };
  const { notes } = await readPaths({
    "/a": { post: { requestBody: bodyOf(created), responses: { 201: { description: "It is new." } } } },
    "/a/{id}": { [method]: { requestBody: bodyOf(schema), responses } },
  });
  return notes.find((note) => wanted.test(note))?.replace(/^.* is not served, as (.*): it .*$/, "$1");
}

const object = (properties: object, required: readonly string[] = []) => ({
  type: "object",
  required,
  properties,
});

test.each<[what: string, method: "put" | "patch", schema: object, reason: string | undefined]>([
  [
    "the same properties",
    "put",
    object({ tag, name: { maxLength: 9, type: "string" } }, ["name"]),
    undefined,
  ],
  ["the id", "put", object({ id: { type: "string" }, name, tag }, ["name", "id"]), undefined],
  ["a property less", "put", object({ name }, ["name"]), undefined],
  ["another limit", "put", object({ name: tag, tag }, ["name"]), undefined],
  ["another required one", "put", object({ name, tag }), undefined],
  ["some properties", "patch", object({ tag }), undefined],
  ["null", "patch", object({ tag: { type: ["string", "null"] } }), undefined],
  ["two members", "patch", { ...object({ tag }), minProperties: 2 }, undefined],
  ["alternatives", "patch", { anyOf: [object({ tag }), object({ name })] }, undefined],
  ["an array", "patch", { type: "array" }, "it must be the schema of an object"],
  [
    "a required foreign property",
    "patch",
    object({ x: tag }, ["x"]),
    'its body requires "x", which is not kept',
  ],
])("%s in the body of a %s: %j", async (_, method, schema, reason) => {
  expect(await noteOf(method, schema)).toBe(reason as string);
});

test("a property that the body of POST does not have is noted, and not kept", async () => {
  expect(await noteOf("put", object({ name, tag, x: tag }, ["name"]), response, /"x" is not kept/)).toBe(
    '"x" is not kept (at /paths/~1a~1{id}/put/requestBody/content/application~1json/schema/properties/x)',
  );
});

test("an operation without a body, or whose response cannot be sent, is not served", async () => {
  const own = object({ name, tag }, ["name"]);
  expect(await noteOf("put", own, { 202: { description: "Later." } })).toBe(
    "it describes no response 200 or 204",
  );
  const wrong = { 200: { description: "Old.", ...bodyOf(object({ old: tag }, ["old"])) } };
  expect(await noteOf("put", own, wrong)).toBe('its response requires "old", which the body does not have');
});

test("parameters of a path are those of its operations", async () => {
  const parameter = (name: string, place: string) => ({
    name,
    in: place,
    required: true,
    schema: { type: "string" },
  });
  const collection = await readPaths({
    "/a": {
      parameters: [parameter("tenant", "query"), parameter("Idempotency-Key", "header")],
      post: {
        requestBody: bodyOf(object({ name }, ["name"])),
        responses: { 201: { description: "New.", ...bodyOf(object({ id: { type: "string" }, name })) } },
      },
      trace: {},
    },
  });
  expect(collection.requiresKey).toBeTrue();
  expect(collection.notes).toEqual([
    "the query parameter tenant of POST /a is not served (at /paths/~1a/parameters/0)",
    "TRACE /a is not served, as it is none of a collection: it responds with 501 (at /paths/~1a/trace)",
  ]);
});
