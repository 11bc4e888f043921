// Errors as operations describe them: their statuses, their shapes, and the words for what is needed.

import { expect, test } from "bun:test";
import { sandboxOfThings } from "../../support/contract-sandbox.ts";
import { jsonOf, objectOf } from "../../support/descriptions.ts";

const text = { type: "string" };
const detail = objectOf(
  { loc: { type: "array", items: { anyOf: [text, { type: "integer" }] } }, msg: text, type: text },
  ["loc", "msg", "type"],
);
const validation = jsonOf(objectOf({ detail: { type: "array", items: detail } }, ["detail"]));
const problem = {
  content: {
    "application/problem+json": {
      schema: { type: "object", properties: { title: { type: ["string", "null"] }, traceId: text } },
    },
  },
};
const thing = objectOf({ id: { type: "integer" }, name: text }, ["id", "name"]);

test("a taken id is 409 and a body that does not fit 422, where these are described, in their shapes", async () => {
  await using store = await sandboxOfThings({
    body: thing,
    post: {
      responses: { 200: { description: "ok", ...jsonOf(thing) }, 409: problem, 422: validation },
    },
    item: {
      get: { responses: { 200: jsonOf(thing), 404: problem } },
      delete: { responses: { 204: { description: "Gone." }, 404: problem } },
    },
  });
  const create = (body: string) => store.request("POST", "/things", body);
  expect((await create('{"id":1,"name":"a"}')).status).toBe(200);
  const taken = await create('{"id":1,"name":"b"}');
  expect([taken.status, taken.headers.get("content-type"), taken.json]).toEqual([
    409,
    "application/problem+json",
    {
      type: "urn:plantstore:error:40009",
      title: expect.any(String),
      status: 409,
      detail: expect.stringContaining("already holds a different thing"),
    },
  ]);
  for (const wrong of ['{"id":2}', "{", '{"id":2,"name":"\\u0000"}']) {
    const invalid = await create(wrong);
    expect([invalid.status, invalid.json]).toEqual([
      422,
      { detail: [{ loc: ["body"], msg: expect.any(String), type: expect.stringMatching(/:4000\d$/) }] },
    ]);
  }
  expect((await store.request("DELETE", "/things/1")).status).toBe(204);
  const missing = await store.request("DELETE", "/things/1");
  expect([missing.status, missing.json]).toEqual([
    404,
    expect.objectContaining({
      title: "There is nothing at the path",
      detail: expect.stringContaining("no thing with the id 1"),
    }),
  ]);
});

test("errors with a nested object, and those of Prefer, have the contract's shape", async () => {
  const error = objectOf({ error: objectOf({ code: text, message: text }, ["code", "message"]) }, ["error"]);
  await using store = await sandboxOfThings({
    body: thing,
    post: { responses: { 200: { description: "ok" }, 400: jsonOf(error) } },
    more: { servers: [{ url: "https://things.example/api" }] },
  });
  const invalid = await store.request("POST", "/things", "{}");
  expect(invalid.json).toEqual({
    error: { code: "40002", message: expect.stringContaining('"name" is required') },
  });
  const unmet = await store.request("POST", "/things", "{}", { Prefer: "code=999" });
  expect(unmet.json).toEqual({
    error: { code: "40010", message: expect.stringMatching(/^Prefer: code=999 is neither/) },
  });
  const forced = await store.request("POST", "/things", "{}", { Prefer: "code=404" });
  expect(forced.json).toEqual({
    error: { code: "40400", message: expect.stringContaining("POST /api/things creates a thing") },
  });
});

test("an error that is described without a body has the shape of the others, also in the served document", async () => {
  await using store = await sandboxOfThings({
    body: thing,
    post: { responses: { 200: { description: "ok", ...jsonOf(thing) }, 400: { description: "Wrong." } } },
    item: { get: { responses: { 200: jsonOf(thing), 404: jsonOf(objectOf({ reason: text }, ["reason"])) } } },
  });
  const { status, json } = await store.request("POST", "/things", "{}");
  expect([status, json]).toEqual([400, { reason: expect.stringContaining("The body is not") }]);
  const { paths, components } = (await store.request("GET", "/openapi.json")).json as {
    paths: Record<string, { post: { responses: Record<string, { content: object; description: string }> } }>;
    components: { schemas: Record<string, object> };
  };
  const described = paths["/things"]?.post.responses["400"];
  expect(described?.description).toStartWith("Wrong.");
  const content = Object.entries(described?.content ?? {});
  expect(content).toEqual([["application/json", expect.objectContaining({ schema: expect.any(Object) })]]);
  const [, { schema }] = content[0] as [string, { schema: { $ref: string } }];
  expect(components.schemas[schema.$ref.split("/").at(-1) as string]).toMatchObject({ required: ["reason"] });
});
