// An operation that responds as described: it needs neither a server nor a collection.

import { expect, test } from "bun:test";
import { ownErrorShape } from "../../../src/contract/error-format.ts";
import {
  describedLine,
  sandboxOperations,
} from "../../../src/sandbox/described-operations/sandbox-operation.ts";

const document = {
  openapi: "3.0.3",
  info: { title: "Weather", version: "1" },
  paths: {
    "/weather/{city}": {
      parameters: [{ name: "city", in: "path", required: true, schema: { type: "string", maxLength: 4 } }],
      get: {
        responses: {
          200: {
            description: "ok",
            content: { "application/json": { schema: { type: "integer", enum: [7] } } },
          },
        },
      },
    },
  },
};
const others = [{ method: "GET", path: "/weather/{city}" }] as const;

test("a description without a collection has operations that respond", async () => {
  const [operation] = sandboxOperations(document, others, ownErrorShape);
  const respond = (city: string) =>
    operation?.respond({
      headers: new Headers(),
      query: "",
      segments: { city },
      readBody: () => Promise.reject(new Error("no body is described")),
    });
  expect(await (await respond("Oslo"))?.text()).toBe("7");
  const rejected = await respond("Berlin");
  expect(rejected?.status).toBe(400);
  expect(await rejected?.json()).toEqual({
    error: 40004,
    message: "The path parameter city is not valid: it must be a string of at most 4 characters.",
  });
});

interface Sent {
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Sends a request to an operation that is described so. */
async function sent(described: object, { path = "1", query = "", headers = {}, body = "" }: Sent = {}) {
  const paths = { "/things/{id}": { post: described } };
  const [operation] = sandboxOperations(
    { openapi: "3.1.0", info: { title: "Things", version: "1" }, paths },
    [{ method: "POST", path: "/things/{id}" }],
    ownErrorShape,
  );
  const response = await operation?.respond({
    headers: new Headers(headers),
    query,
    segments: { id: path },
    readBody: async () => new TextEncoder().encode(body),
  });
  return { status: response?.status, headers: response?.headers, text: await response?.text() };
}

const responding = (content: object, more: object = {}) => ({
  responses: { 200: { description: "ok", content, ...more } },
});

test("a named example is sent in its own media type, whichever Accept prefers", async () => {
  const described = responding({
    "application/json": { schema: { type: "integer" } },
    "text/plain": { examples: { plain: { value: "as text" } } },
  });
  const headers = { Prefer: "example=plain", Accept: "application/json" };
  const found = await sent(described, { headers });
  expect([found.headers?.get("content-type"), found.text]).toEqual(["text/plain", "as text"]);
});

test("Accept is read by its most specific range, and what it excludes comes last", async () => {
  const described = responding({
    "application/json": { example: 1 },
    "text/plain": { example: "a" },
    "text/csv": { example: "b" },
  });
  for (const [Accept, expected] of [
    ["application/json;q=0, */*", "text/plain"],
    ["text/*, text/plain;q=0.1, application/json;q=0.5", "text/csv"],
    ["*/*;q=0.9, application/json;q=0.1", "text/plain"],
    ["text/csv;q=0, text/*", "text/plain"],
    ["*/*", "application/json"],
  ] as const)
    expect([Accept, (await sent(described, { headers: { Accept } })).headers?.get("content-type")]).toEqual([
      Accept,
      expected,
    ]);
});

test("the point of a number in a path of style label separates nothing", async () => {
  const labelled = (schema: object) => ({
    parameters: [{ name: "id", in: "path", required: true, style: "label", schema }],
    ...responding({ "application/json": { example: 1 } }),
  });
  expect((await sent(labelled({ type: "number", minimum: 3.5 }), { path: ".3.5" })).status).toBe(200);
  expect(
    (await sent(labelled({ type: "array", items: { type: "integer" }, minItems: 2 }), { path: ".3.5" }))
      .status,
  ).toBe(200);
});

test("a body that may be missing may be empty with a media type, and parts may have names without quotes", async () => {
  const body = (required: boolean, type: string) => ({
    requestBody: {
      required,
      content: { [type]: { schema: { type: "object", required: ["a"], properties: { a: { const: "1" } } } } },
    },
    ...responding({ "application/json": { example: 1 } }),
  });
  const headers = { "Content-Type": "application/json" };
  expect((await sent(body(false, "application/json"), { headers })).status).toBe(200);
  expect((await sent(body(true, "application/json"), { headers })).status).toBe(400);
  const part = (head: string, text = "1") => `--x-y.z\r\n${head}\r\n\r\n${text}\r\n--x-y.z--\r\n`;
  const form = { headers: { "Content-Type": "multipart/form-data; boundary=x-y.z" } };
  for (const head of [
    "Content-Disposition: form-data; name=a",
    'content-disposition: form-data;name="a"',
    "Content-Type: text/plain\r\nContent-Disposition: form-data; name=a; filename=b.txt",
  ])
    expect((await sent(body(true, "multipart/form-data"), { ...form, body: part(head) })).status).toBe(200);
  const wrong = part("Content-Disposition: form-data; name=b", "Content-Disposition: form-data; name=a");
  expect((await sent(body(true, "multipart/form-data"), { ...form, body: wrong })).status).toBe(400);
});

test("files are made, and fields of the framing are the server's", async () => {
  const field = { required: true, schema: { type: "string" }, example: "7" };
  const fields = { headers: { "Content-Length": field, "Content-Encoding": field, "X-Total": field } };
  const image = { schema: { type: "string", format: "binary" } };
  const textOf = async (type: string, media: object = image) =>
    (await sent(responding({ [type]: media }))).text;
  expect(await textOf("image/png")).toContain("PNG");
  expect(await textOf("image/*", {})).toContain("PNG");
  expect(await textOf("application/pdf")).toBe("string");
  expect((await sent(responding({ "application/xml": { schema: { type: "object" } } }))).status).toBe(501);
  const found = await sent(responding({ "image/png": { ...image, example: "PNG" } }, fields));
  expect([...(found.headers?.keys() ?? [])].toSorted()).toEqual(["cache-control", "content-type", "x-total"]);
});

test("the last of many operations with large schemas is checked, too", async () => {
  const names = Array.from({ length: 600 }, (_, index) => `a${index}`);
  const schema = {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "integer" }])),
  };
  const post = { requestBody: { content: { "application/json": { schema } } }, responses: { 204: {} } };
  const paths = names.slice(0, 50).map((name) => `/${name}`);
  const operations = sandboxOperations(
    {
      openapi: "3.1.0",
      info: { title: "Things", version: "1" },
      paths: Object.fromEntries(paths.map((path) => [path, { post }])),
    },
    paths.map((path) => ({ method: "POST", path })),
    ownErrorShape,
  );
  const headers = new Headers({ "Content-Type": "application/json" });
  const readBody = async () => new TextEncoder().encode('{"a7":"x"}');
  for (const operation of operations)
    expect((await operation.respond({ headers, query: "", segments: {}, readBody })).status).toBe(400);
});

test("an array of a form may be JSON", async () => {
  const tags = { type: "array", items: { enum: ["a", "b"] } };
  const form = "application/x-www-form-urlencoded";
  const described = {
    requestBody: { content: { [form]: { schema: { type: "object", properties: { tags } } } } },
    responses: { 204: { description: "ok" } },
  };
  const status = async (body: string) =>
    (await sent(described, { headers: { "Content-Type": form }, body })).status;
  const forms = ["tags=a&tags=b", 'tags=["a","b"]', 'tags=["c"]', "tags=[a"];
  expect(await Promise.all(forms.map(status))).toEqual([204, 204, 400, 400]);
});

test("a redirect is a success, before what is described for all other statuses", async () => {
  const described = { responses: { 302: { description: "there" }, default: { description: "no" } } };
  expect((await sent(described)).status).toBe(302);
});

test("whatever goes wrong is written as `default` describes it", async () => {
  const problem = { type: "object", required: ["reason"], properties: { reason: { type: "string" } } };
  const json = { description: "no", content: { "application/json": { schema: problem } } };
  const described = {
    requestBody: { content: { "application/json": { schema: { type: "integer" } } } },
    responses: { 200: { description: "ok", content: { "text/csv": { schema: false } } }, default: json },
  };
  const asText = { headers: { "Content-Type": "text/plain" }, body: "7" };
  const unmet = { headers: { Prefer: "example=nowhere" } };
  for (const [request, status] of [
    [asText, 415],
    [unmet, 400],
    [{}, 501],
  ] as const) {
    const response = await sent(described, request);
    expect(response.status).toBe(status);
    expect(JSON.parse(response.text ?? "")).toEqual({ reason: expect.any(String) });
  }
  const asXml = { description: "no", content: { "application/xml": { schema: problem } } };
  const xml = await sent({ ...described, responses: { ...described.responses, 415: asXml } }, asText);
  expect([xml.status, xml.text]).toEqual([501, expect.stringContaining("fits its response 415")]);
});

const withParameter = (parameter: object) => ({
  parameters: [{ in: "query", name: "id", required: true, ...parameter }],
  responses: { 204: { description: "ok" } },
});
const numbers = { type: "array", items: { type: "integer" }, minItems: 2 };
const point = { type: "object", required: ["x", "y"], additionalProperties: { type: "integer" } };

test.each<[string, object, Sent, Sent]>([
  ["label", { in: "path", style: "label", schema: numbers }, { path: ".1.2" }, { path: ".1.x" }],
  ["matrix", { in: "path", style: "matrix", schema: numbers }, { path: ";id=1,2" }, { path: ";id=1" }],
  [
    "exploded matrix",
    { in: "path", style: "matrix", explode: true, schema: point },
    { path: ";x=1;y=2" },
    { path: ";x=1;z=2" },
  ],
  ["simple object", { in: "path", schema: point }, { path: "x,1,y,2" }, { path: "x,1,y,b" }],
  [
    "space",
    { style: "spaceDelimited", explode: false, schema: numbers },
    { query: "id=1%202" },
    { query: "id=1" },
  ],
  [
    "pipe",
    { style: "pipeDelimited", explode: false, schema: numbers },
    { query: "id=1%7C2" },
    { query: "id=1,2" },
  ],
  ["exploded object", { schema: point }, { query: "x=1&y=2" }, { query: "x=1&y=b" }],
  ["exploded form", { schema: numbers }, { query: "id=1&id=2" }, { query: "id=1" }],
  [
    "deep object",
    { style: "deepObject", schema: point },
    { query: "id[x]=1&id%5By%5D=2" },
    { query: "id[x]=1" },
  ],
  [
    "JSON",
    { content: { "application/json": { schema: numbers } } },
    { query: "id=%5B1%2C2%5D" },
    { query: "id=1,2" },
  ],
  [
    "cookie",
    { in: "cookie", explode: false, schema: numbers },
    { headers: { Cookie: "a=b&id=3; id=1,2" } },
    { headers: { Cookie: "id=1" } },
  ],
  [
    "header, as it is",
    { in: "header", name: "X-Id", schema: { const: "50%25" } },
    { headers: { "X-Id": "50%25" } },
    { headers: { "X-Id": "50%" } },
  ],
])("a parameter is read in the style %s", async (_, parameter, right, wrong) => {
  expect((await sent(withParameter(parameter), right)).status).toBe(204);
  expect((await sent(withParameter(parameter), wrong)).status).toBe(400);
});

test("a body that is nested too deeply is rejected", async () => {
  const list = {
    type: "array",
    items: { $ref: "#/paths/~1things~1{id}/post/requestBody/content/application~1json/schema" },
  };
  const described = {
    requestBody: { content: { "application/json": { schema: list } } },
    responses: { 204: { description: "ok" } },
  };
  const body = "[".repeat(50_000) + "]".repeat(50_000);
  const headers = { "Content-Type": "application/json" };
  expect((await sent(described, { headers, body })).status).toBe(400);
});

test("a line names the first ones, and the number of all", () => {
  const some = (count: number) =>
    sandboxOperations(
      document,
      Array.from({ length: count }).fill(others[0]) as (typeof others)[0][],
      ownErrorShape,
    );
  expect(describedLine(some(1))).toBe(
    "1 operation responds as described, and keeps nothing: GET /weather/{city}",
  );
  expect(describedLine(some(12))).toMatch(/^12 operations respond .*, GET \/weather\/\{city\}, 2 more$/);
});

test("a media type with a line break is not sent", async () => {
  const content = { "text/a\r\nX: b": { example: "a" }, "text/plain": { example: "b" } };
  const { status, text } = await sent(responding(content));
  expect([status, text]).toEqual([200, "b"]);
  const only = await sent(responding({ "text/a\r\nX: b": { example: "a" } }));
  expect(only.status).toBe(501);
});
