// The effect of settings of the public listener, as flags and as environment variables.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { plantJson, post, send } from "../../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../../support/server.ts";

// A server starts in 0.3 s, so the settings share two.
const resources = new AsyncDisposableStack();
let byFlags: RunningServer;
let byEnvironment: RunningServer;

beforeAll(async () => {
  const folder = resources.use(new TemporaryFolder());
  const start = async (name: string, args: readonly string[], env: Record<string, string>) =>
    resources.use(await RunningServer.startInProcess({ database: `sqlite:${folder.file(name)}`, args, env }));
  byFlags = await start(
    "flags.db",
    [
      ...["--base-path", "/flag", "--public-url", "https://plants.example/v1"],
      ...["--cors", "https://docs.example, https://shop.example:8443"],
    ],
    { PLANTSTORE_BASE_PATH: "/environment" },
  );
  byEnvironment = await start("environment.db", [], {
    PLANTSTORE_BASE_PATH: "/shop/v1/",
    PLANTSTORE_CORS: "off",
  });
});
afterAll(() => resources.disposeAsync());

test("a base path is the prefix of every path, and is in openapi.json", async () => {
  const { url } = byEnvironment;
  expect(url).toEndWith("/shop/v1");
  const target = { url, token: await byEnvironment.createToken() };
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  expect((await send(`${url}/openapi.json`)).json).toMatchObject({ servers: [{ url }] });
  const { origin } = new URL(url);
  expect((await post({ ...target, url: origin }, plantJson(2n, "Monstera"))).json).toMatchObject({
    error: 40400,
  });
});

test("a flag has precedence over its environment variable", () => {
  expect(byFlags.url).toEndWith("/flag");
});

test("a public URL is the one in openapi.json", async () => {
  expect((await send(`${byFlags.url}/openapi.json`)).json).toMatchObject({
    servers: [{ url: "https://plants.example/v1" }],
  });
});

test("CORS for listed origins only", async () => {
  const from = (origin: string, method = "POST") =>
    send(`${byFlags.url}/plants`, {
      method,
      headers: { Origin: origin, "Access-Control-Request-Method": "POST" },
    });
  for (const method of ["POST", "OPTIONS"]) {
    const listed = await from("https://shop.example:8443", method);
    expect(listed.headers.get("access-control-allow-origin")).toBe("https://shop.example:8443");
    expect(listed.headers.get("vary")).toBe("Origin");
    const other = await from("https://evil.example", method);
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
    expect(other.headers.get("vary")).toBe("Origin");
  }
});

test("CORS turned off", async () => {
  for (const method of ["POST", "OPTIONS"]) {
    const { headers } = await send(`${byEnvironment.url}/plants`, {
      method,
      headers: { Origin: "https://docs.example", "Access-Control-Request-Method": "POST" },
    });
    expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  }
});
