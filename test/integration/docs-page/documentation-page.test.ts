// The documentation page over HTTP: its addresses and headers, and the setting that turns it off.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { scalarPackage } from "../../../src/docs-page/scalar.ts";
import { post, send } from "../../support/http.ts";
import { RunningServer } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

async function serverWith(...args: string[]): Promise<RunningServer> {
  return resources.use(await RunningServer.startInProcess({ args }));
}

/** The links of a page, as a browser resolves them. */
async function getLinks(
  pageUrl: string,
): Promise<{ files: string[]; documents: string[]; described: string }> {
  const html = await (await fetch(pageUrl)).text();
  const linked = (pattern: RegExp) =>
    [...html.matchAll(pattern)].map(([, link = ""]) => new URL(link, pageUrl).href);
  const [described = ""] = linked(/data-url="([^"]+)"/g);
  return {
    files: linked(/<script src="([^"]+)"/g),
    documents: linked(/<a href="([^"#]+)"/g),
    described,
  };
}

/** The interface description in each form. */
const documentNames = ["openapi.json", "openapi.yaml"];

describe("the documentation page", () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await serverWith();
  });

  test("needs no credentials, and its policy allows only its own scripts and server, and no frame", async () => {
    const response = await fetch(`${server.url}/`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(await response.text()).not.toMatch(/<script(?! src=)|\son\w+=|\sstyle=/);
  });

  test("without JavaScript it links to the description", async () => {
    const { documents } = await getLinks(`${server.url}/`);
    expect(documents).toEqual(documentNames.map((name) => `${server.url}/${name}`));
  });

  test("sends Scalar in Brotli, in gzip, or as it is to who takes neither, and not again to who has it", async () => {
    const url = `${server.url}/docs/scalar.js`;
    const get = (encoding: string, tag = "") =>
      fetch(url, { headers: { "Accept-Encoding": encoding, "If-None-Match": tag }, decompress: false });
    for (const [encoding, sent] of [
      ["gzip, br", "br"],
      ["br;q=0.5", "br"],
      ["br;q=0, gzip", "gzip"],
      ["br;q=0, gzip;q=0.0", null],
      ["identity", null],
    ] as const) {
      const response = await get(encoding);
      expect([encoding, response.headers.get("content-encoding")]).toEqual([encoding, sent]);
      const bytes = await response.bytes();
      const script = sent === null ? bytes : { br: brotliDecompressSync, gzip: gunzipSync }[sent](bytes);
      expect(Bun.SHA256.hash(script, "hex")).toBe(scalarPackage.sha256);
      const again = await get(encoding, response.headers.get("etag") ?? "");
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
  });

  test("a Host field that is none is not in the description", async () => {
    const { origin, host } = new URL(server.url);
    for (const [sent, shown] of [
      ["plants.example:80", "plants.example:80"],
      ['"><script>', host],
    ]) {
      const response = await fetch(`${origin}/openapi.json`, { headers: { Host: sent as string } });
      expect(await response.json()).toMatchObject({ servers: [{ url: `http://${shown}` }] });
    }
  });

  test("HEAD is supported, and other methods are rejected with Allow", async () => {
    const { files } = await getLinks(`${server.url}/`);
    for (const url of [`${server.url}/`, ...files]) {
      const headers = { "Accept-Encoding": "identity" };
      const head = await fetch(url, { method: "HEAD", headers });
      expect(head.status).toBe(200);
      expect(await head.text()).toBe("");
      const rejected = await fetch(url, { method: "POST" });
      expect([rejected.status, rejected.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
  });

  test.each(["/docs", "/docs/", "/docs/page.ts", "/docs/../package.json", "/index.html"])(
    "%s is not found, as any other unknown path",
    async (path) => {
      expect((await fetch(server.url + path)).status).toBe(401);
      const headers = { Authorization: `Bearer ${await server.createToken()}` };
      expect((await fetch(server.url + path, { headers })).status).toBe(404);
    },
  );
});

describe("under a base path", () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await serverWith("--base-path", "/garden/v1");
  });

  test.each(["", "/"])(
    "the page is at the base address followed by %j, and its links resolve",
    async (end) => {
      const { files, documents, described } = await getLinks(server.url + end);
      expect(documents).toEqual(documentNames.map((name) => `${server.url}/${name}`));
      for (const link of [...files, ...documents]) expect((await fetch(link)).status).toBe(200);
      expect(described).toBe(`${server.url}/openapi.json`);
    },
  );

  test("the root leads there, also through a proxy that maps a path to it", async () => {
    const { origin } = new URL(server.url);
    const root = await fetch(origin, { redirect: "manual" });
    expect([root.status, root.headers.get("location")]).toEqual([307, "garden/v1/"]);
    expect((await fetch(origin)).url).toBe(`${server.url}/`);
  });

  test("the path is the prefix of every other one, and is in openapi.json", async () => {
    const target = await server.target();
    expect((await post(target, '{"id": 1, "name": "Monstera"}')).status).toBe(200);
    expect((await send(`${server.url}/openapi.json`)).json).toMatchObject({ servers: [{ url: server.url }] });
    const { origin } = new URL(server.url);
    expect((await post({ ...target, url: origin }, "{}")).json).toMatchObject({ error: 40400 });
  });
});

test("behind a proxy the description has the public URL, and links stay relative", async () => {
  const publicUrl = "https://plants.example/garden/api";
  const server = await serverWith("--base-path", "/v1", "--public-url", publicUrl, "--cors", "off");
  const { json, headers } = await send(`${server.url}/openapi.json`);
  expect(json).toMatchObject({ servers: [{ url: publicUrl }] });
  expect(headers.has("access-control-allow-origin")).toBe(false);
  const html = await (await fetch(`${server.url}/`)).text();
  expect(html).not.toContain(new URL(server.url).host);
  expect(html).toContain('data-url="openapi.json"');
  // The proxy maps /garden/api to /v1.
  expect(await (await fetch(server.url)).text()).toContain('data-url="api/openapi.json"');
});

test("with --docs off its paths are not found, as any other unknown path", async () => {
  const [on, off] = await Promise.all([serverWith(), serverWith("--docs", "off")]);
  const { files } = await getLinks(`${on.url}/`);
  const token = await off.createToken();
  for (const path of ["/", ...files.map((file) => new URL(file).pathname)]) {
    expect((await fetch(off.url + path)).status).toBe(401);
    const authenticated = await fetch(off.url + path, { headers: { Authorization: `Bearer ${token}` } });
    expect(authenticated.status).toBe(404);
  }
  for (const name of documentNames) expect((await fetch(`${off.url}/${name}`)).status).toBe(200);
  expect((await post({ url: off.url, token }, '{"id": 1, "name": "Monstera"}')).status).toBe(200);
});
