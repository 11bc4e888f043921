// The documentation page over HTTP: its addresses and headers, and the setting that turns it off.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { post } from "../../support/http.ts";
import { publishedBundle } from "../../support/scalar-bundle.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

async function serverWith(...args: string[]): Promise<RunningServer> {
  const folder = resources.use(new TemporaryFolder());
  return resources.use(
    await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}`, args: [...args] }),
  );
}

/** The links of a page, as a browser resolves them. */
async function getLinks(pageUrl: string): Promise<{ scripts: string[]; openapi: string }> {
  const html = await (await fetch(pageUrl)).text();
  const scripts = [...html.matchAll(/<script src="([^"]+)"/g)].map(
    ([, link = ""]) => new URL(link, pageUrl).href,
  );
  const openapi = /data-openapi="([^"]+)"/.exec(html)?.[1] ?? "";
  return { scripts, openapi: new URL(openapi, pageUrl).href };
}

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
    expect(response.headers.has("x-request-id")).toBe(true);
    const policy = (response.headers.get("content-security-policy") ?? "").split("; ");
    const [nonce] = policy.flatMap((rule) => /^style-src-elem 'nonce-([\w+/=]{24})'$/.exec(rule)?.[1] ?? []);
    expect(policy.toSorted()).toEqual(
      [
        "default-src 'none'",
        "script-src 'self'",
        `style-src-elem 'nonce-${nonce}'`,
        "style-src-attr 'unsafe-inline'",
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ].toSorted(),
    );
    const html = await response.text();
    expect(html).toContain(`content="${nonce}"`);
    expect(html).not.toMatch(/<script(?! src=)|<style|https?:(?!\/\/www\.w3\.org\/2000\/svg)/);
  });

  test("has a new nonce in every response", async () => {
    const getPolicy = async () => (await fetch(`${server.url}/`)).headers.get("content-security-policy");
    expect(await getPolicy()).not.toBe(await getPolicy());
  });

  test("its scripts need no credentials and are immutable, and the bundle is sent compressed", async () => {
    const { scripts } = await getLinks(`${server.url}/`);
    expect(scripts).toHaveLength(2);
    for (const script of scripts) {
      const response = await fetch(script, { headers: { "Accept-Encoding": "gzip, deflate, br" } });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      const isBundle = script.includes("scalar");
      expect(response.headers.get("content-encoding")).toBe(isBundle ? "gzip" : null);
      expect(response.headers.get("vary")).toBe(isBundle ? "Accept-Encoding" : null);
      if (isBundle) expect((await response.text()) === (await publishedBundle())).toBe(true);
      else expect(await response.text()).toContain("createApiReference");
    }
  });

  test.each(["identity", "gzip;q=0", "br, gzip; q=0.0"])(
    "a client that accepts only %j gets the bundle uncompressed",
    async (encodings) => {
      const { scripts } = await getLinks(`${server.url}/`);
      const response = await fetch(scripts.at(-1) ?? "", {
        headers: { "Accept-Encoding": encodings },
        decompress: false,
      });
      expect(response.headers.get("content-encoding")).toBe(null);
      expect((await response.text()) === (await publishedBundle())).toBe(true);
    },
  );

  test("HEAD is supported, and other methods are rejected with Allow", async () => {
    const { scripts } = await getLinks(`${server.url}/`);
    for (const url of [`${server.url}/`, ...scripts]) {
      const headers = { "Accept-Encoding": "identity" };
      const head = await fetch(url, { method: "HEAD", headers });
      expect(head.status).toBe(200);
      expect(await head.text()).toBe("");
      const { byteLength } = await (await fetch(url, { headers })).arrayBuffer();
      if (url !== `${server.url}/`) expect(Number(head.headers.get("content-length"))).toBe(byteLength);
      for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
        const rejected = await fetch(url, { method });
        expect(rejected.status).toBe(405);
        expect(rejected.headers.get("allow")).toBe("GET, HEAD");
        expect(await rejected.json()).toEqual({
          error: 40500,
          message: `${method} is not offered at ${new URL(url).pathname}; GET it.`,
        });
      }
    }
  });

  test.each([
    "/docs",
    "/docs/",
    "/docs/scalar.js",
    "/docs/../package.json",
    "/docs/scalar.js.gz",
    "/index.html",
  ])("%s is not found, as any other unknown path", async (path) => {
    expect((await fetch(server.url + path)).status).toBe(401);
    const headers = { Authorization: `Bearer ${await server.createToken()}` };
    expect((await fetch(server.url + path, { headers })).status).toBe(404);
  });
});

describe("under a base path", () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await serverWith("--base-path", "/garden/v1");
  });

  test.each(["", "/"])(
    "the page is at the base address followed by %j, and its links resolve",
    async (end) => {
      const { scripts, openapi } = await getLinks(server.url + end);
      expect(openapi).toBe(`${server.url}/openapi.json`);
      for (const link of [...scripts, openapi]) expect((await fetch(link)).status).toBe(200);
    },
  );

  test("the root is not the page", async () => {
    expect((await fetch(new URL("/", server.url))).status).toBe(401);
  });
});

test("behind a proxy the page may call the public URL, and its links stay relative", async () => {
  const server = await serverWith("--base-path", "/v1", "--public-url", "https://plants.example/garden/api");
  const response = await fetch(`${server.url}/`);
  expect(response.headers.get("content-security-policy")).toContain(
    "connect-src 'self' https://plants.example;",
  );
  expect(await response.text()).toContain('data-openapi="openapi.json"');
  // The proxy maps /garden/api to /v1.
  expect(await (await fetch(server.url)).text()).toContain('data-openapi="api/openapi.json"');
});

test("with --docs off its paths are not found, as any other unknown path", async () => {
  const [on, off] = await Promise.all([serverWith(), serverWith("--docs", "off")]);
  const { scripts } = await getLinks(`${on.url}/`);
  const token = await off.createToken();
  for (const path of ["/", ...scripts.map((script) => new URL(script).pathname)]) {
    expect((await fetch(off.url + path)).status).toBe(401);
    const authenticated = await fetch(off.url + path, { headers: { Authorization: `Bearer ${token}` } });
    expect(authenticated.status).toBe(404);
  }
  expect((await fetch(`${off.url}/openapi.json`)).status).toBe(200);
  expect((await post({ url: off.url, token }, '{"id": 1, "name": "Monstera"}')).status).toBe(200);
});
