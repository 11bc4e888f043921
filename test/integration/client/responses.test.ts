// What the client's fetch makes of responses: exact integers also below openapi-fetch, which parses a
// response without Content-Length itself, and responses without a body.

import { afterAll, expect, test } from "bun:test";
import { createServer } from "node:http";
import createClient from "openapi-fetch";
import { createFetch } from "../../../packages/client/src/index.ts";

interface Paths {
  "/thing": {
    get: { responses: { 200: { content: { "application/json": { id: number | bigint } } } } };
    head: { responses: { 200: { content?: never } } };
    delete: { responses: { 204: { content?: never } } };
  };
}

/** It streams, so that its responses have no Content-Length. */
const server = createServer(({ method }, response) => {
  response.writeHead(method === "DELETE" ? 204 : 200, { "Content-Type": "application/json" });
  if (method === "GET") response.write('{"id":');
  response.end(method === "GET" ? "9007199254740993}" : undefined);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
afterAll(() => server.close());
const { port } = server.address() as { port: number };
const url = `http://127.0.0.1:${port}`;
const client = createClient<Paths>({ baseUrl: url, fetch: createFetch() });

test("a streamed body has exact integers, and the rest of the response is as it was", async () => {
  expect((await fetch(`${url}/thing`)).headers.get("content-length")).toBeNull();
  const { data, response } = await client.GET("/thing");
  expect(data).toEqual({ id: 9007199254740993n });
  expect([response.status, response.url]).toEqual([200, `${url}/thing`]);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect((await client.GET("/thing", { parseAs: "text" })).data).toBe('{"id":9007199254740993}');
});

test("a response without a body has none", async () => {
  expect((await client.DELETE("/thing")).response.status).toBe(204);
  expect((await client.HEAD("/thing")).response.status).toBe(200);
});
