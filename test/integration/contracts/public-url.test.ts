// Addresses behind a proxy that changes the path: Location, Link, and those in bodies lead through it.

import { expect, test } from "bun:test";
import { sandboxOfThings, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { type DescribedThings, jsonOf, objectOf } from "../../support/descriptions.ts";

const text = { type: "string" };
const thing = objectOf({ id: { ...text, format: "uuid" }, url: text, name: text }, ["id", "url", "name"]);
const urls = objectOf({
  items: { type: "array", items: thing },
  first: text,
  next: { ...text, format: "uri" },
  self: text,
});

/** Things whose list has pages by a parameter of the query. */
const thingsBy = (paging: string): DescribedThings => ({
  body: objectOf({ name: text }, ["name"]),
  post: { responses: { 201: jsonOf(thing) } },
  collection: {
    get: {
      parameters: [paging, "limit"].map((name) => ({
        name,
        in: "query",
        schema: { type: name === "after" ? "string" : "integer" },
      })),
      responses: { 200: jsonOf(urls) },
    },
  },
  item: {
    get: { responses: { 200: jsonOf(thing) } },
    patch: { requestBody: jsonOf(objectOf({ name: text })), responses: { 200: jsonOf(thing) } },
  },
  more: { servers: [{ url: "/v%31" }] },
});

/** Starts things behind a proxy whose /garden is the server's /v1. */
async function thingsBehindProxy(paging: string) {
  await using resources = new AsyncDisposableStack();
  let upstream = "";
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (!pathname.startsWith("/garden/")) return new Response(null, { status: 404 });
      const path = pathname.slice("/garden".length);
      const { method, headers } = request;
      const body = method === "GET" ? undefined : await request.arrayBuffer();
      return await fetch(`${upstream}${path}${search}`, { method, headers, body, redirect: "manual" });
    },
  });
  resources.defer(() => proxy.stop(true));
  const publicUrl = `${proxy.url.origin}/garden`;
  const things = resources.use(await sandboxOfThings(thingsBy(paging), ["--public-url", publicUrl]));
  upstream = things.url;
  const held = resources.move();
  return {
    publicUrl,
    send: (url: string, method = "GET", body?: object) =>
      sendJson(url, method, body, tokenHeaders(things.token)),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

test.each(["after", "offset", "page"])(
  "addresses lead through the proxy, in a list by %s",
  async (paging) => {
    await using things = await thingsBehindProxy(paging);
    const { publicUrl, send } = things;
    const collection = `${publicUrl}/things`;
    const names = ["a", "b", "c"];
    for (const name of names) {
      const { status, headers, json } = await send(collection, "POST", { name });
      const { id, url } = json as { id: string; url: string };
      expect([status, headers.get("location"), url]).toEqual([
        201,
        `/garden/things/${id}`,
        `${collection}/${id}`,
      ]);
      for (const each of [new URL(headers.get("location") ?? "", collection).href, url])
        expect((await send(each)).json).toEqual({ id, url, name });
      expect((await send(url, "PATCH", { name })).json).toEqual({ id, url, name });
    }
    const found: string[] = [];
    for (let at: string | undefined = `${collection}?limit=1`; at !== undefined; ) {
      const { headers, json } = await send(at);
      const page = json as {
        items: { name: string; url: string }[];
        first: string;
        self: string;
        next?: string;
      };
      const link = /^<(\/garden\/.+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
      expect(page.next).toBe(link && new URL(link, at).href);
      for (const each of [page.first, page.self]) expect(each).toStartWith(`${collection}?limit=1`);
      for (const { name, url } of page.items) {
        found.push(name);
        expect((await send(url)).json).toMatchObject({ name, url });
      }
      at = page.next;
    }
    expect(found).toEqual(names);
  },
);
