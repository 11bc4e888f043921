// Bodies of PUT and PATCH are served if they mean what the body of POST means.

import { expect, test } from "bun:test";
import type { Contract } from "../../../../src/core/contract/contract.ts";
import { findRefusedChange } from "../../../../src/core/contract/description/compare-contracts.ts";
import { readContract } from "../../../../src/core/contract/description/read-contract.ts";

const name = { type: "string", maxLength: 9 };
const tag = { type: "string" };
const response = { 200: { description: "It is stored." } };
const bodyOf = (schema: object) => ({ content: { "application/json": { schema } } });

/** Reads a description with these paths. */
function readPaths(paths: object): Promise<Contract> {
  const info = { title: "A", version: "1" };
  return readContract({ text: JSON.stringify({ openapi: "3.1.0", info, paths }) });
}

async function noteOf(method: "put" | "patch", schema: object, responses: object = response) {
  const created = {
    type: "object",
    required: ["id", "name"],
    properties: { id: { type: "string" }, name, tag, seen: { type: "string", readOnly: true } },
  };
  const { notes } = await readPaths({
    "/a": { post: { requestBody: bodyOf(created), responses: { 201: { description: "It is new." } } } },
    "/a/{id}": { [method]: { requestBody: bodyOf(schema), responses } },
  });
  return notes
    .find((note) => / \/a\/\{id\} /.test(note))
    ?.replace(/^.* is not served, as (.*): it .*$/, "$1");
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
  ["descriptions", "put", object({ name: { ...name, title: "Name" }, tag }, ["name"]), undefined],
  ["the id", "put", object({ id: { type: "string" }, name, tag }, ["name", "id"]), undefined],
  ["a property less", "put", object({ name }, ["name"]), 'its body does not have "tag"'],
  [
    "a property more",
    "put",
    object({ name, tag, x: tag }, ["name"]),
    'its body has "x", which that of POST does not have',
  ],
  [
    "another limit",
    "put",
    object({ name: tag, tag }, ["name"]),
    'the "name" of its body is not that of POST',
  ],
  [
    "another required one",
    "put",
    object({ name, tag }),
    "its body requires other properties than that of POST",
  ],
  ["some properties", "patch", object({ tag }), undefined],
  ["null", "patch", object({ tag: { type: ["string", "null"] } }), undefined],
  ["at least one member", "patch", { ...object({ tag }), minProperties: 1 }, undefined],
  [
    "two members",
    "patch",
    { ...object({ tag }), minProperties: 2 },
    "the keyword minProperties of its body is not supported",
  ],
  ["an array", "patch", { type: "array" }, "its body is no object with properties"],
  ["a foreign property", "patch", object({ x: tag }), 'its body has "x", which that of POST does not have'],
])("%s in the body of a %s: %j", async (_, method, schema, reason) => {
  expect(await noteOf(method, schema)).toBe(reason as string);
});

test("an operation without a body, or whose response cannot be sent, is not served", async () => {
  const own = object({ name, tag }, ["name"]);
  expect(await noteOf("put", own, { 202: { description: "Later." } })).toBe(
    "it describes no response 200 or 204",
  );
  const wrong = { 200: { description: "Old.", ...bodyOf(object({ old: tag }, ["old"])) } };
  expect(await noteOf("put", own, wrong)).toBe('its response requires "old"');
});

test("parameters of a path are those of its operations", async () => {
  const parameter = (name: string, place: string) => ({
    name,
    in: place,
    required: true,
    schema: { type: "string" },
  });
  const contract = await readPaths({
    "/a": {
      parameters: [parameter("tenant", "query"), parameter("Idempotency-Key", "header")],
      post: {
        requestBody: bodyOf(object({ name }, ["name"])),
        responses: { 201: { description: "New.", ...bodyOf(object({ id: { type: "string" }, name })) } },
      },
      trace: {},
    },
  });
  expect(contract.requiresKey).toBeTrue();
  expect(contract.notes).toEqual([
    "the query parameter tenant of POST /a is not served (at /paths/~1a/parameters/0)",
    "TRACE /a is not served (at /paths/~1a/trace)",
  ]);
});

test("a text id that loses its maxLength is refused, as its limit of bytes would be lower", async () => {
  const withId = (id: object) => {
    const requestBody = bodyOf(object({ id, name }, ["id"]));
    return readPaths({ "/a": { post: { requestBody, responses: { 201: { description: "New." } } } } });
  };
  const [long, free] = [await withId({ type: "string", maxLength: 500 }), await withId({ type: "string" })];
  expect(findRefusedChange(long, free)).toContain("would have no maxLength");
  expect(findRefusedChange(free, free)).toBeUndefined();
});
