// Paths and methods of descriptions beside those of collections.

import { expect, test } from "bun:test";
import { sandboxOfThings } from "../../support/contract-sandbox.ts";
import { jsonOf, objectOf, readThings, refusalOf, thingsDocument } from "../../support/descriptions.ts";
import { exchangeRaw } from "../../support/raw-connection.ts";

const textOf = (value: string) => ({ description: "ok", content: { "text/plain": { example: value } } });
const operation = (value: string) => ({ responses: { 200: textOf(value) } });
const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
const body = objectOf({ id: { type: "string" }, name: { type: "string" } }, ["id"]);
const success = { responses: { 200: { description: "ok", ...jsonOf(body) } } };
const item = { parameters: [id], get: success, delete: { responses: { 204: { description: "gone" } } } };

/** Sends a request, and returns its status and the text of its response. */
async function respond(
  { url }: { readonly url: string },
  method: string,
  path: string,
  headers: object = {},
) {
  const response = await fetch(url + path, { method, headers: { ...headers } });
  return [response.status, await response.text()] as const;
}

/** A description of things with other paths. */
function withPaths(paths: object, order: "before" | "after" = "after") {
  const own = thingsDocument({ body, item }).paths as object;
  return { body, item, more: { paths: order === "before" ? { ...paths, ...own } : { ...own, ...paths } } };
}

test("HEAD, OPTIONS and TRACE respond as described, and HEAD of what is served is GET", async () => {
  const head = {
    responses: {
      204: { description: "ok", headers: { "X-Size": { required: true, schema: { const: 7 } } } },
    },
  };
  await using store = await sandboxOfThings(
    withPaths({
      "/files/{name}": { head, options: operation("options"), trace: operation("trace") },
      "/files": { head },
      "/things/{id}": { ...item, head },
    }),
  );
  await store.request("POST", "/things", '{"id":"a"}');
  const sizes = await Promise.all(
    ["/files/a", "/files", "/things/a"].map(async (path) => {
      const { status, headers } = await store.request("HEAD", path);
      return [status, headers.get("x-size")];
    }),
  );
  expect(sizes).toEqual([
    [204, "7"],
    [204, "7"],
    [200, null],
  ]);
  expect(await respond(store, "OPTIONS", "/files/a")).toEqual([200, "options"]);
  expect(
    await exchangeRaw(
      store.url,
      `TRACE /files/a HTTP/1.1\r\nHost: ${new URL(store.url).host}\r\nConnection: close\r\n\r\n`,
    ),
  ).toMatch(/^HTTP\/1.1 200 OK\r\n.*\r\n\r\ntrace$/s);
  const preflight = { Origin: "http://localhost:3000", "Access-Control-Request-Method": "GET" };
  expect(await respond(store, "OPTIONS", "/files/a", preflight)).toEqual([204, ""]);
});

test("they are named where they are not served, and paths that are the same", async () => {
  const { notes, otherOperations } = await readThings(
    withPaths(
      {
        "/files": { head: operation("a"), options: operation("a"), trace: operation("a") },
        "/things/{thing}": { get: success, patch: operation("b") },
      },
      "before",
    ),
  );
  expect(notes).toEqual([
    "it describes no JSON; the response is what is stored (at /paths/~1things~1{thing}/patch/responses/200)",
    "/things/{id} is the same path as /things/{thing}, whose operations go first (at /paths/~1things~1{id})",
    "HEAD /files is not served, as it is none of a collection: it responds with 501 (at /paths/~1files/head)",
    "OPTIONS /files is not served, as it is none of a collection: it responds with 501 (at /paths/~1files/options)",
    "TRACE /files is not served, as it is none of a collection: it responds with 501 (at /paths/~1files/trace)",
    "PATCH /things/{thing} is not served, as it describes no body of JSON: it responds with 501 (at /paths/~1things~1{thing}/patch)",
  ]);
  expect(otherOperations.length).toBe(4);
});

test("an operation at / goes before the page, which is for browsers then", async () => {
  await using store = await sandboxOfThings(
    withPaths({ "/": { get: operation("home"), post: operation("posted") } }),
  );
  const html = { Accept: "text/html,*/*;q=0.8" };
  expect(await respond(store, "GET", "/")).toEqual([200, "home"]);
  expect(await respond(store, "HEAD", "/")).toEqual([200, ""]);
  expect(await respond(store, "POST", "/")).toEqual([200, "posted"]);
  expect((await respond(store, "GET", "/", html))[1]).toMatch(/^<!doctype html>/i);
  expect((await respond(store, "PUT", "/"))[0]).toBe(405);
});

test("an id that is another path is refused, and says which", async () => {
  await using store = await sandboxOfThings(
    withPaths({
      "/things/count": { get: operation("5") },
      "/things/a%20b": { delete: operation("5") },
      "/things/search": { post: operation("5") },
      "/things/{id}.pdf": { get: operation("pdf") },
      "/things/x{one}-{two}y": { get: operation("xy") },
      "/things/{id}:cancel": { post: operation("5") },
      "/things/{id}/parts": { get: operation("5") },
    }),
  );
  for (const taken of ["count", "a b", "1.pdf", "x1-2y", "x1-2-3y"]) {
    const { status, text } = await store.request("POST", "/things", JSON.stringify({ id: taken }));
    expect([taken, status, text]).toEqual([
      taken,
      400,
      expect.stringContaining(
        String.raw`other than \"count\", \"a%20b\", \"{id}.pdf\", 1 more, which are other paths`,
      ),
    ]);
  }
  for (const free of ["counts", "Count", ".pdf", "x-y", "xa-y", "search", "a:cancel", "parts"]) {
    const { status } = await store.request("POST", "/things", JSON.stringify({ id: free }));
    expect([free, status]).toEqual([free, 200]);
    const { json } = await store.request("GET", `/things/${encodeURIComponent(free)}`);
    expect(json).toEqual({ id: free });
  }
});

test("an id that is an integer may be another path, too", async () => {
  const integer = objectOf({ id: { type: "integer" } }, ["id"]);
  const paths = { "/things": (thingsDocument({ body: integer }).paths as { "/things": object })["/things"] };
  await using store = await sandboxOfThings({
    more: {
      paths: {
        ...paths,
        "/things/{id}": { get: { responses: { 200: jsonOf(integer) } } },
        "/things/7": { get: operation("seven") },
      },
    },
  });
  expect((await store.request("POST", "/things", '{"id":7}')).status).toBe(400);
  expect((await store.request("POST", "/things", '{"id":8}')).status).toBe(200);
  expect(await refusalOf({ body: integer })).toBe("served");
});

test("malformed percent-encoding is 400, and never another resource", async () => {
  await using store = await sandboxOfThings(withPaths({}));
  for (const name of ["%FF", "%zz"])
    expect((await store.request("POST", "/things", JSON.stringify({ id: name }))).status).toBe(200);
  for (const path of ["%FF", "%zz", "%C3"]) {
    const { status, text } = await store.request("GET", `/things/${path}`);
    expect([status, text]).toEqual([400, expect.stringContaining(`percent-encoding \\"${path}\\"`)]);
  }
  expect((await store.request("GET", "/things/%25FF")).json).toEqual({ id: "%FF" });
});
