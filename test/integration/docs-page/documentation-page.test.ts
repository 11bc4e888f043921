// The documentation page over HTTP: its addresses and headers, and the setting that turns it off.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { errorRegistry } from "../../../src/base/errors.ts";
import type { OpenApiDocument } from "../../../src/contract/contract.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { contractFile, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { plantStore } from "../../support/contracts.ts";
import { post, send, type Target } from "../../support/http.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

async function serverWith(...args: string[]): Promise<RunningServer> {
  return resources.use(await RunningServer.startInProcess({ args }));
}

/** The links of a page, as a browser resolves them. */
async function getLinks(pageUrl: string): Promise<{ files: string[]; documents: string[]; action: string }> {
  const html = await (await fetch(pageUrl)).text();
  const linked = (pattern: RegExp) =>
    [...html.matchAll(pattern)].map(([, link = ""]) => new URL(link, pageUrl).href);
  const [action = ""] = linked(/data-action="([^"]+)"/g);
  return {
    files: linked(/(?:<script src|<link rel="stylesheet" href)="([^"]+)"/g),
    documents: linked(/<a href="([^"#]+)"/g),
    action,
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
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(await response.text()).not.toMatch(/<script(?! src=)|<style|\son\w+=|\sstyle=/);
  });

  test("names every field, status and error code of the description", async () => {
    const html = await (await fetch(`${server.url}/`)).text();
    for (const { error } of Object.values(errorRegistry).filter(
      ({ error }) => ![40004, 41200, 42800, 50100].includes(error),
    ))
      expect(html).toContain(`<tr id="error-${error}"><th scope="row"><code>${error}</code></th>`);
    const described = servedDocument(plantStore, []) as unknown as {
      paths: { "/plants": { post: { responses: object } } };
    };
    for (const status of Object.keys(described.paths["/plants"].post.responses))
      expect(html).toContain(`<details id="status-${status}">`);
    expect(html).toContain(`curl -i ${server.url}/plants`);
    for (const field of ["id", "name", "tag", "error", "message"])
      expect(html).toContain(`<th scope="row"><code>${field}</code></th>`);
  });

  test("has a form for each operation, also for those that are asked for", async () => {
    const { url } = await serverWith("--operations", "create,list,delete");
    const html = await (await fetch(`${url}/`)).text();
    const forms = [...html.matchAll(/data-method="(\w+)" data-action="([^"]+)"/g)].map(([, ...form]) => form);
    expect(forms).toEqual([
      ["POST", "plants"],
      ["GET", "plants"],
      ["DELETE", "plants/{id}"],
    ]);
    expect(html).toContain(`curl -i ${url}/plants \\\n`);
    expect(html).toContain(`curl -i -X DELETE ${url}/plants/1 \\\n`);
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

describe.each(["server", "sandbox"])("the page of three collections, on a %s", (kind) => {
  const args = ["--contract", contractFile("estate.yaml")];
  let target: Target;
  beforeAll(async () => {
    if (kind === "server") target = await (await serverWith(...args)).target();
    else target = resources.use(await RunningSandbox.startInProcess({ args }));
  });

  test("has a form for each operation that responds, which is sent as it stands", async () => {
    const html = await (await fetch(`${target.url}/`)).text();
    const forms = [...html.matchAll(/data-method="(\w+)" data-action="([^"]+)".*?<\/form>/gs)];
    const shown = forms.map(([, method, action]) => `${method} ${action}`);
    expect(shown.filter((form) => form.endsWith("search"))).toEqual(kind === "server" ? [] : ["POST search"]);
    expect(shown).toHaveLength(kind === "server" ? 15 : 16);
    const creates = forms.filter(([, method, action = ""]) => method === "POST" && action !== "search");
    expect(creates.map(([, , action]) => action)).toEqual(["parcels", "couriers", "special-events"]);
    for (const [form, , action] of creates) {
      const [, body = ""] = />([^<]*)<\/textarea>/.exec(form) ?? [];
      const url = `${target.url}/${action}`;
      const headers = tokenHeaders(target.token);
      const created = await sendJson(url, "POST", body.replaceAll("&quot;", '"'), headers);
      expect({ url, status: created.status }).toEqual({ url, status: 201 });
      const location = new URL(created.headers.get("location") ?? "", url);
      expect((await send(location.href, { headers })).text).toBe(created.text);
      const { paths } = (await send(`${target.url}/openapi.json`)).json as OpenApiDocument;
      expect(paths?.[`/${action}`]?.post).toHaveProperty("x-codeSamples");
    }
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
      const { files, documents, action } = await getLinks(server.url + end);
      expect(documents).toEqual(documentNames.map((name) => `${server.url}/${name}`));
      for (const link of [...files, ...documents]) expect((await fetch(link)).status).toBe(200);
      expect(action).toBe(`${server.url}/plants`);
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

test("behind a proxy the samples have the public URL, and links stay relative", async () => {
  const publicUrl = "https://plants.example/garden/api";
  const server = await serverWith("--base-path", "/v1", "--public-url", publicUrl, "--cors", "off");
  const { json, headers } = await send(`${server.url}/openapi.json`);
  expect(json).toMatchObject({ servers: [{ url: publicUrl }] });
  expect(headers.has("access-control-allow-origin")).toBe(false);
  const html = await (await fetch(`${server.url}/`)).text();
  expect(html).toContain("curl -i https://plants.example/garden/api/plants");
  expect(html).not.toContain(new URL(server.url).host);
  expect(html).toContain('data-action="plants"');
  // The proxy maps /garden/api to /v1.
  expect(await (await fetch(server.url)).text()).toContain('data-action="api/plants"');
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
