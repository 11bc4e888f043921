// Operations that no collection serves: a sandbox checks their requests, and responds as described.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { send } from "../../support/http.ts";
import { loggedRequests, RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

const json = (schema: object, more: object = {}) => ({ "application/json": { schema, ...more } });
const text = (more: object = {}) => ({ type: "string", ...more });
const works = { type: "array", minItems: 1, items: { $ref: "#/components/schemas/Work" } };
const query = (name: string, schema: object, more: object = {}) => ({ name, in: "query", schema, ...more });
const problem = {
  description: "no",
  content: json({
    type: "object",
    required: ["fault"],
    properties: { fault: { type: "object", required: ["reason"], properties: { reason: text() } } },
  }),
};

const document = {
  openapi: "3.1.0",
  info: { title: "Museum", version: "1" },
  components: {
    securitySchemes: {
      key: { type: "apiKey", in: "query", name: "key" },
      basic: { type: "http", scheme: "basic" },
    },
    schemas: {
      Work: {
        type: "object",
        required: ["id", "title", "kind"],
        properties: {
          id: { type: "integer", minimum: 1 },
          title: text({ examples: ["Water Lilies"] }),
          kind: text({ enum: ["painting", "sculpture"] }),
          secret: text({ writeOnly: true }),
        },
      },
    },
  },
  paths: {
    "/works": {
      post: {
        requestBody: { content: json({ $ref: "#/components/schemas/Work" }) },
        responses: { 201: { description: "ok", content: json({ $ref: "#/components/schemas/Work" }) } },
      },
    },
    "/search": {
      get: {
        parameters: [
          query("q", text({ minLength: 2 }), { required: true }),
          query("rooms", { type: "array", items: { type: "integer" } }, { explode: false }),
        ],
        responses: {
          200: {
            description: "ok",
            headers: { "X-Total": { required: true, schema: { type: "integer", minimum: 3, maximum: 3 } } },
            content: json(works, {
              examples: {
                broken: { value: [{ id: "1" }] },
                found: { value: [{ id: "exact", title: "Haystacks", kind: "painting" }] },
                none: { value: [{ id: 2, title: "Nothing", kind: "sculpture" }] },
              },
            }),
          },
          400: problem,
          404: {
            description: "none",
            content: json({ type: "object", required: ["gone"], properties: { gone: { const: true } } }),
          },
        },
      },
    },
    "/login": {
      post: {
        requestBody: {
          required: true,
          content: {
            ...json({
              type: "object",
              required: ["user"],
              properties: { user: text(), age: { type: "integer" } },
            }),
            "application/x-www-form-urlencoded": {
              schema: {
                type: "object",
                required: ["user"],
                properties: { user: text(), age: { type: "integer" } },
              },
            },
          },
        },
        responses: {
          200: {
            description: "ok",
            content: json({
              type: "object",
              required: ["token"],
              properties: { token: text({ pattern: "^[A-Z]{4}\\d{6}$" }) },
            }),
          },
          422: problem,
        },
      },
    },
    "/works/{id}/images/{size}": {
      put: {
        security: [{ key: [] }, { basic: [] }],
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "integer" } },
          { name: "size", in: "path", required: true, schema: text({ enum: ["small", "large"] }) },
        ],
        requestBody: {
          required: true,
          content: {
            "image/*": {},
            "multipart/form-data": {
              schema: {
                type: "object",
                required: ["file"],
                properties: { file: {}, width: { type: "integer" } },
              },
            },
          },
        },
        responses: { 204: { description: "stored" } },
      },
      get: {
        responses: {
          200: {
            description: "the image",
            content: { "image/png": { example: "PNG" }, "text/plain": { example: "a lily" } },
          },
        },
      },
    },
    "/report": {
      get: {
        parameters: [query("filter", { type: "object", additionalProperties: true }, { required: true })],
        responses: { default: { description: "as text", content: { "text/*": { schema: text() } } } },
      },
    },
    "/never": {
      get: {
        responses: {
          200: {
            description: "no value fits",
            content: json({ type: "object", required: ["a"], properties: { a: false } }),
          },
        },
      },
    },
  },
};

const resources = new AsyncDisposableStack();
let sandbox: RunningSandbox;
let notes: string;
beforeAll(async () => {
  const file = resources.use(new TemporaryFolder()).file("museum.json");
  const source = JSON.stringify(document).replace('"exact"', "9007199254740993");
  await Bun.write(file, source);
  sandbox = resources.use(await RunningSandbox.startInProcess({ args: ["--contract", file] }));
  notes = await sandbox.logged((printed) => printed);
});
afterAll(() => resources.disposeAsync());

const get = (path: string, headers: Record<string, string> = {}) => send(sandbox.url + path, { headers });
const sendBody = (method: string, path: string, body: string, headers: Record<string, string>) =>
  send(sandbox.url + path, { method, body, headers });
const asJson = { "Content-Type": "application/json" };

test("one line of the start names them with their number, and the collection is served as before", async () => {
  expect(notes).toContain(
    "contract: 6 operations respond as described, and keep nothing: GET /search, POST /login, GET /works/{id}/images/{size}, PUT /works/{id}/images/{size}, GET /report, GET /never",
  );
  expect(notes).not.toContain("responds with 501");
  const created = await sendBody("POST", "/works", '{"id":1,"title":"Lilies","kind":"painting"}', asJson);
  expect(created.status).toBe(201);
});

test("the first example that fits its schema is sent with all digits, and the required header fields", async () => {
  const found = await get("/search?q=lilies");
  expect([found.status, found.text]).toEqual([
    200,
    '[{"id":9007199254740993,"title":"Haystacks","kind":"painting"}]',
  ]);
  expect(found.headers.get("x-total")).toBe("3");
  expect(found.headers.get("content-type")).toBe("application/json");
});

test("Prefer chooses an example, a status, or a value that is new each time", async () => {
  const preferred = (prefer: string) => get("/search?q=lilies", { Prefer: prefer });
  const example = await preferred("example=none, delay=0.01");
  expect(example.json).toEqual([{ id: 2, title: "Nothing", kind: "sculpture" }]);
  expect(example.headers.get("preference-applied")).toBe("example=none, delay=0.01");
  expect(await preferred("code=404")).toMatchObject({ status: 404, json: { gone: true } });
  // A forced error needs no valid request.
  expect((await get("/search", { Prefer: "code=404" })).status).toBe(404);
  const dynamic = await Promise.all([preferred("dynamic=true"), preferred("dynamic=true")]);
  expect(dynamic.map(({ status }) => status)).toEqual([200, 200]);
  expect(dynamic[0]?.text).not.toBe(dynamic[1]?.text ?? "");
  for (const unmet of ["code=418", "example=nowhere", "code=404, example=none", "code=2000"])
    expect((await preferred(unmet)).status).toBe(400);
});

test.each([
  ["", "q is missing"],
  ["?q=a", "q is not valid"],
  ["?q=ab&rooms=1,x", "rooms is not valid: /1 must be an integer"],
])("a query %p is rejected in the shape that is described", async (search, reason) => {
  const rejected = await get(`/search${search}`);
  expect(rejected.status).toBe(400);
  expect((rejected.json as { fault: { reason: string } }).fault.reason).toContain(reason);
});

test("a body is checked in each format, and the response is made from its schema", async () => {
  const login = (body: string, type = "application/json") =>
    sendBody("POST", "/login", body, { "Content-Type": type });
  const first = await login('{"user":"ann"}');
  expect(first.json).toEqual({ token: expect.stringMatching(/^[A-Z]{4}\d{6}$/) });
  expect((await login('{"user":"bob"}')).text).toBe(first.text);
  expect((await login("user=ann&age=7", "application/x-www-form-urlencoded")).status).toBe(200);
  for (const [body, type] of [
    ['{"age":7}', "application/json"],
    ["{", "application/json"],
    ["user=ann&age=x", "application/x-www-form-urlencoded"],
  ] as const)
    expect(await login(body, type)).toMatchObject({
      status: 422,
      json: { fault: { reason: expect.any(String) } },
    });
  expect((await login("ann", "text/plain")).status).toBe(415);
});

test("an upload needs credentials, and parameters of the path that fit", async () => {
  const upload = (path: string, headers: Record<string, string> = {}) =>
    sendBody("PUT", path, "bytes", { "Content-Type": "image/png", ...headers });
  expect((await upload("/works/1/images/small?key=1")).status).toBe(204);
  expect((await upload("/works/1/images/small", { Authorization: "Basic YTpi" })).status).toBe(204);
  const anonymous = await upload("/works/1/images/small");
  expect(anonymous.text).toContain("send key in the query, or the header Authorization with basic");
  expect([anonymous.status, anonymous.headers.get("www-authenticate")]).toEqual([
    401,
    'Bearer realm="sandbox"',
  ]);
  expect((await upload("/works/x/images/small?key=1")).status).toBe(400);
  expect(await upload("/works/1/images/huge?key=1")).toMatchObject({
    status: 400,
    json: {
      error: 40004,
      message: 'The path parameter size is not valid: it must be one of "small", "large".',
    },
  });
  expect((await upload("/works/1/images/small?key=1", { "Content-Type": "text/css" })).status).toBe(415);
  const form = new FormData();
  form.set("file", new Blob(["bytes"]), "a.png");
  form.set("width", "10");
  const parts = () => send(`${sandbox.url}/works/1/images/small?key=1`, { method: "PUT", body: form });
  expect((await parts()).status).toBe(204);
  form.set("width", "wide");
  expect((await parts()).status).toBe(400);
});

test("Accept chooses among the formats, and another method of the path gets 405", async () => {
  const path = "/works/1/images/small";
  const textOf = async (headers: Record<string, string>) =>
    (await fetch(sandbox.url + path, { headers })).text();
  expect(await textOf({})).toBe("PNG");
  expect(await textOf({ Accept: "text/*" })).toBe("a lily");
  const deleted = await send(sandbox.url + path, { method: "DELETE" });
  expect([deleted.status, deleted.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT"]);
});

test("an empty object is written as nothing, and `default` is the success where no other is described", async () => {
  const { status, headers } = await fetch(`${sandbox.url}/report`);
  expect([status, headers.get("content-type")]).toEqual([200, "text/plain"]);
});

test("a response that no value fits is 501, with a sentence", async () => {
  expect(await get("/never")).toMatchObject({
    status: 501,
    text: expect.stringContaining("no value was found"),
  });
});

test("a rule changes them, the log has them, and the served description has the errors of the sandbox", async () => {
  await sandbox.control("DELETE", "/requests");
  await sandbox.control("POST", "/rules", { match: { method: "GET" }, times: 1, outcome: { error: 50300 } });
  expect((await get("/search?q=ab")).status).toBe(503);
  expect((await get("/search?q=ab")).status).toBe(200);
  expect((await loggedRequests(sandbox, 2)).map(({ response }) => response?.status)).toEqual([503, 200]);
  const { json: served } = await get("/openapi.json");
  const { paths } = served as { paths: Record<string, Record<string, { responses: object }>> };
  expect(Object.keys(paths["/login"]?.post?.responses ?? {})).toEqual(
    expect.arrayContaining(["200", "415", "422", "501"]),
  );
});
