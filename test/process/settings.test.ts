// What each setting of the server changes, as a flag and as an environment variable.

import { expect, test } from "bun:test";
import { freshId, plantJson, post, send } from "../harness/http.ts";
import { RunningServer, TemporaryFolder } from "../harness/server.ts";

async function serverWith(
  folder: TemporaryFolder,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<RunningServer> {
  return RunningServer.start({ database: `sqlite:${folder.file("plants.db")}`, args, env });
}

test("a base path stands in front of every path, and in the description", async () => {
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

test("a flag goes before its environment variable", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, ["--base-path", "/flag"], {
    PLANTSTORE_BASE_PATH: "/environment",
  });
  expect(server.url).toEndWith("/flag");
});

test("a public address is the one in the description", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, ["--public-url", "https://plants.example/v1"]);
  expect((await send(`${server.url}/openapi.json`)).json).toMatchObject({
    servers: [{ url: "https://plants.example/v1" }],
  });
});

test("another body limit is kept, and named in the refusal", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, ["--body-bytes-max", "100"]);
  const target = { url: server.url, token: await server.createToken() };
  expect((await post(target, plantJson(1n, "x".repeat(100)))).json).toMatchObject({
    error: 41300,
    message: "The body is over the limit of 100 bytes; send a smaller plant.",
  });
});

test("CORS for listed origins alone", async () => {
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

test("past a full queue 50300 with Retry-After, and everything that was accepted is answered truly", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, ["--queue-plants-max", "2"]);
  const target = { url: server.url, token: await server.createToken() };
  const ids = Array.from({ length: 200 }, () => freshId());
  const answers = await Promise.all(ids.map((id) => post(target, plantJson(id, "x".repeat(2_000)))));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, headers, json } of refused) {
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("1");
    expect(json).toEqual({
      error: 50300,
      message: "The server is overloaded and did not store the plant; retrying in 1 second is safe.",
    });
  }
  const stored = new Set((await server.command("export")).stdout.match(/(?<="id":)-?\d+/g));
  for (const [index, { status }] of answers.entries())
    expect(stored.has(String(ids[index]))).toBe(status === 200);
});

test("over a token's rate 42900 with Retry-After, and another token is not concerned", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, ["--token-rate", "5"]);
  const [one, other] = [await server.createToken(), await server.createToken()];
  const burst = await Promise.all(
    Array.from({ length: 20 }, () => post({ url: server.url, token: one }, plantJson(freshId(), "Monstera"))),
  );
  const refused = burst.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThanOrEqual(5);
  expect(burst.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(5);
  for (const { headers, json } of refused) {
    expect(headers.get("retry-after")).toBe("1");
    expect(json).toEqual({
      error: 42900,
      message: "This token is over its rate of 5 creates a second; try again in 1 second.",
    });
  }
  expect((await post({ url: server.url, token: other }, plantJson(freshId(), "Monstera"))).status).toBe(200);
  await Bun.sleep(1_100);
  expect((await post({ url: server.url, token: one }, plantJson(freshId(), "Monstera"))).status).toBe(200);
});
