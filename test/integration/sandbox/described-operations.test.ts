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
    "/works/{id}/images/{size}": {
      put: {
        security: [{ key: [] }, { basic: [] }],
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "integer" } },
          { name: "size", in: "path", required: true, schema: text({ enum: ["small", "large"] }) },
        ],
        requestBody: {
          required: true,
          content: { "image/*": {} },
        },
        responses: { 204: { description: "stored" } },
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
    "contract: 2 operations respond as described, and keep nothing: GET /search, PUT /works/{id}/images/{size}",
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

test("a query is rejected in the shape that is described", async () => {
  const rejected = await get("/search?q=ab&rooms=1,x");
  expect(rejected).toMatchObject({
    status: 400,
    json: { fault: { reason: expect.stringContaining("rooms is not valid: /1 must be an integer") } },
  });
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
  const deleted = await send(`${sandbox.url}/works/1/images/small`, { method: "DELETE" });
  expect([deleted.status, deleted.headers.get("allow")]).toEqual([405, "PUT"]);
});

test("a rule changes them, the log has them, and the served description has the errors of the sandbox", async () => {
  await sandbox.control("DELETE", "/requests");
  await sandbox.control("POST", "/rules", { match: { method: "GET" }, times: 1, outcome: { error: 50300 } });
  expect((await get("/search?q=ab")).status).toBe(503);
  expect((await get("/search?q=ab")).status).toBe(200);
  expect((await loggedRequests(sandbox, 2)).map(({ response }) => response?.status)).toEqual([503, 200]);
  const { json: served } = await get("/openapi.json");
  const { paths } = served as { paths: Record<string, Record<string, { responses: object }>> };
  expect(Object.keys(paths["/search"]?.get?.responses ?? {})).toEqual(
    expect.arrayContaining(["200", "400", "404", "501"]),
  );
});
