// Static files: content types, revalidation, HEAD, and gzip.

import { expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { staticFiles } from "../../../src/admin-pages/static-files.ts";

const script = "export const answer = 42;\n".repeat(20_000);

const assets = staticFiles(
  new Map([
    ["/style.css", async () => "p { color: green; }"],
    ["/script.js", async () => script],
  ]),
  { "X-Content-Type-Options": "nosniff" },
);

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  return assets.request(path, init);
}

test("only listed paths are served", async () => {
  expect((await request("/toString")).status).toBe(404);
});

test("a file has its content type, its headers and an ETag, with which it is not sent again", async () => {
  const response = await request("/style.css");
  expect(response.headers.get("content-type")).toBe("text/css; charset=utf-8");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("cache-control")).toBe("no-cache");
  expect(await response.text()).toBe("p { color: green; }");
  const etag = response.headers.get("etag") ?? "";
  const revalidated = await request("/style.css", { headers: { "If-None-Match": etag } });
  expect(revalidated.status).toBe(304);
  expect(revalidated.headers.get("etag")).toBe(etag);
  expect(await revalidated.text()).toBe("");
});

test("a file is sent with gzip to clients that accept it, under an ETag of its own", async () => {
  const compressed = await request("/script.js", { headers: { "Accept-Encoding": "br, gzip" } });
  const plain = await request("/script.js", { headers: { "Accept-Encoding": "identity" } });
  for (const response of [compressed, plain]) {
    expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(response.headers.get("vary")).toBe("Accept-Encoding");
  }
  expect(compressed.headers.get("content-encoding")).toBe("gzip");
  expect(plain.headers.has("content-encoding")).toBe(false);
  expect(compressed.headers.get("etag")).not.toBe(plain.headers.get("etag"));
  expect(gunzipSync(await compressed.bytes()).toString() === script).toBe(true);
  expect((await plain.text()) === script).toBe(true);
});

test("HEAD has the length and no body", async () => {
  const response = await request("/script.js", {
    method: "HEAD",
    headers: { "Accept-Encoding": "identity" },
  });
  expect(response.headers.get("content-length")).toBe(String(script.length));
  expect(await response.text()).toBe("");
});
