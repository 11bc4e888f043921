// The effect of settings of the public listener, as flags and as environment variables.

import { expect, test } from "bun:test";
import { plantJson, post, send } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

async function serverWith(
  folder: TemporaryFolder,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<RunningServer> {
  return RunningServer.start({ database: `sqlite:${folder.file("plants.db")}`, args, env });
}

test("a base path is the prefix of every path, and is in openapi.json", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, [], { PLANTSTORE_BASE_PATH: "/shop/v1/" });
  expect(server.url).toEndWith("/shop/v1");
  const target = { url: server.url, token: await server.createToken() };
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  expect((await send(`${server.url}/openapi.json`)).json).toMatchObject({ servers: [{ url: server.url }] });
  const origin = new URL(server.url).origin;
  expect((await post({ ...target, url: origin }, plantJson(2n, "Monstera"))).json).toMatchObject({
    error: 40400,
  });
});

test("a flag has precedence over its environment variable", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, ["--base-path", "/flag"], {
    PLANTSTORE_BASE_PATH: "/environment",
  });
  expect(server.url).toEndWith("/flag");
});

test("a public URL is the one in openapi.json", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, ["--public-url", "https://plants.example/v1"]);
  expect((await send(`${server.url}/openapi.json`)).json).toMatchObject({
    servers: [{ url: "https://plants.example/v1" }],
  });
});

test("CORS for listed origins only", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, [
    "--cors",
    "https://docs.example, https://shop.example:8443",
  ]);
  const from = (origin: string, method = "POST") =>
    send(`${server.url}/plants`, {
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
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, ["--cors", "off"]);
  for (const method of ["POST", "OPTIONS"]) {
    const { headers } = await send(`${server.url}/plants`, {
      method,
      headers: { Origin: "https://docs.example", "Access-Control-Request-Method": "POST" },
    });
    expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  }
});
