// Security as contracts describe it: API keys, bearer tokens, or none, for each operation.

import { expect, test } from "bun:test";
import { bearerAccess } from "../../../src/contract/access.ts";
import type { Description } from "../../../src/docs-page/description.ts";
import { readRequirements } from "../../../src/openapi/description/security.ts";
import { contractFile, sandboxOf, sendJson } from "../../support/contract-sandbox.ts";
import { jsonOf, thingsDocument } from "../../support/descriptions.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";

const schemes: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  token: { type: "http", scheme: "Bearer" },
  oauth: { type: "oauth2", flows: {} },
  openId: { type: "openIdConnect" },
  key: { type: "apiKey", in: "header", name: "X-API-Key" },
  otherKey: { type: "apiKey", in: "header", name: "X-Other" },
  authorization: { type: "apiKey", in: "header", name: "Authorization" },
  wrongKey: { type: "apiKey", in: "header", name: "no token" },
  query: { type: "apiKey", in: "query", name: "key" },
  cookie: { type: "apiKey", in: "cookie", name: "key" },
  basic: { type: "http", scheme: "basic" },
  mutual: { type: "mutualTLS" },
};
const open = { bearer: false, keyHeader: undefined, isOpen: true };
const withKey = { bearer: false, keyHeader: "X-API-Key", isOpen: false };

test.each([
  [undefined, open, []],
  [[], open, []],
  [[{}], open, []],
  [[{ token: [] }], bearerAccess, []],
  [[{ oauth: ["write"] }], { ...bearerAccess, scopes: [["write"]] }, []],
  [[{ oauth: ["a", "b"] }, { openId: ["c"] }], { ...bearerAccess, scopes: [["a", "b"], ["c"]] }, []],
  [[{ oauth: ["write"] }, { key: [] }], { ...withKey, bearer: true }, []],
  [[{ oauth: ["write"] }, {}], { ...bearerAccess, isOpen: true }, []],
  [[{ token: ["gardener"] }], bearerAccess, []],
  [[{ openId: [] }], bearerAccess, []],
  [[{ key: [] }], withKey, []],
  [[{ key: [] }, { otherKey: [] }], withKey, ["otherKey"]],
  [[{ key: [] }, {}], { ...withKey, isOpen: true }, []],
  [[{ token: [] }, { key: [] }, { basic: [] }], { ...withKey, bearer: true, basic: "token" }, []],
  [[{ basic: [] }], { ...open, basic: "token", isOpen: false }, []],
  [[{ authorization: [] }], { bearer: true, keyHeader: "Authorization", isOpen: false }, []],
  [[{ token: [], key: [] }], bearerAccess, ["token with key"]],
  [
    [{ query: [] }, { cookie: [] }, { mutual: [] }, { unknown: [] }, { wrongKey: [] }],
    bearerAccess,
    ["query", "cookie", "mutual", "unknown", "wrongKey"],
  ],
])("the requirements %j give access as they say", (requirements, access, refused) => {
  const security = readRequirements(requirements, (name) => schemes[name]);
  expect([security.access, security.refused]).toEqual([access, refused]);
});

const booking = '{"cabin":"Beech"}';

test("an API key in a header carries the tokens, and what is open needs none", async () => {
  await using store = await sandboxOf(contractFile("bookings.yaml"));
  const { token } = store;
  const book = (headers: Record<string, string>) => store.request("POST", "/bookings", booking, headers);

  const missing = await book({});
  expect(missing).toMatchObject({
    status: 401,
    json: { detail: "The request carries no API key; send the header X-API-Key: <ACCESS_TOKEN>." },
  });
  expect(missing.headers.get("www-authenticate")).toBe('ApiKey realm="plantstore", header="X-API-Key"');
  expect((await book({ Authorization: `Bearer ${token}` })).status).toBe(401);
  for (const key of ["wrong", `Bearer ${token}`, "x".repeat(8_193)]) {
    const wrong = await book({ "X-API-Key": key });
    expect(wrong.json).toMatchObject({
      status: 401,
      detail: expect.stringMatching(/^The API key is not accepted: it /),
    });
    expect(wrong.headers.get("www-authenticate")).toContain('error="invalid_token"');
  }
  // The second one is found by the field as it was sent, which no Authorization field can be.
  for (const time of [1, 2]) expect([time, (await book({ "X-API-Key": token })).status]).toEqual([time, 201]);
  expect((await book({ Authorization: token })).status).toBe(401);
  const { headers } = await book({ "X-API-Key": token });
  const location = headers.get("location") ?? "";
  expect((await store.request("GET", location.slice("/api".length), undefined, {})).status).toBe(200);
  expect((await store.request("DELETE", location.slice("/api".length), undefined, {})).status).toBe(401);
  expect((await store.request("GET", "/nothing", undefined, {})).status).toBe(401);
});

test("the documentation asks for what the contract does", async () => {
  await using store = await sandboxOf(contractFile("bookings.yaml"));
  const { json } = await store.request("GET", "/openapi.json");
  const { paths, info } = json as Description;
  const create = paths["/bookings"]?.post;
  const item = paths["/bookings/{id}"];
  expect(Object.keys(item?.get?.responses ?? {})).not.toContain("401");
  expect(create?.responses["401"]).toMatchObject({
    content: {
      "application/problem+json": {
        examples: { missing: { value: { detail: expect.stringContaining("X-API-Key") } } },
      },
    },
  });
  expect(info.description).toContain("`X-API-Key: <ACCESS_TOKEN>`");
  const text = await (await fetch(`${store.url}/`)).text();
  expect(text).toContain('data-schemes="[&quot;key&quot;]"');
  expect(text).toContain(`<code>X-API-Key: ${store.token}</code>`);
});

test("a contract without security takes every request, and counts them as one caller", async () => {
  await using store = await sandboxOf(contractFile("pets.yaml"));
  const pet = '{"id":1,"name":"Rex"}';
  for (const headers of [{}, { Authorization: "Basic eDp5" }, { Authorization: "Bearer wrong" }])
    expect((await store.request("POST", "/pets", pet, headers)).status).toBe(201);
  expect((await store.request("GET", "/nothing", undefined, {})).status).toBe(404);
  const { json } = await store.request("GET", "/openapi.json");
  const { security, paths } = json as Description;
  expect([security, paths["/pets"]?.post?.security]).toEqual([undefined, undefined]);
  const text = await (await fetch(`${store.url}/`)).text();
  expect(text).toContain('data-schemes="[]"');
});

test("optional credentials are checked where they are sent", async () => {
  await using store = await sandboxOf(contractFile("planets.json"));
  const create = (id: number, headers: Record<string, string>) =>
    store.request("POST", "/planets", `{"id":${id},"name":"Mars"}`, headers);
  expect((await create(1, {})).status).toBe(201);
  expect((await create(2, { Authorization: `Bearer ${store.token}` })).status).toBe(201);
  expect((await create(3, { "X-API-Key": store.token })).status).toBe(201);
  expect((await create(4, { Authorization: "Bearer wrong" })).status).toBe(401);
  expect((await create(5, { "X-API-Key": "wrong" })).status).toBe(401);
});

test("serve refuses what needs no token, unless it is wanted on this machine", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("pets.db")}`;
  const args = ["--contract", contractFile("pets.yaml"), "--database", database, "--port", "0"];
  const serve = (...more: string[]) => runCommand(["serve", ...args, "--admin-port", "off", ...more]);
  const refused = await serve();
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining(
      'the contract\'s operations createPets, listPets, showPetById need no token; describe a bearer token as their "security", or serve it on loopback only with --open',
    ),
  ]);
  const everywhere = await serve("--open", "--host", "0.0.0.0");
  expect([everywhere.exitCode, everywhere.stderr]).toEqual([
    2,
    expect.stringContaining("so --open serves it on loopback only, but --host is 0.0.0.0; use 127.0.0.1"),
  ]);
  await using server = await RunningServer.startInProcess({
    database,
    args: ["--contract", contractFile("pets.yaml"), "--open"],
  });
  const created = await fetch(`${server.url}/pets`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"id":1,"name":"Rex"}',
  });
  expect(created.status).toBe(201);
  const { stdout } = await server.command("get", "1", "--with-creation");
  expect(stdout).toContain("anonymous (no token)");
});

test("pages of other sites cannot use a server that needs no token", async () => {
  using folder = new TemporaryFolder();
  await using server = await RunningServer.startInProcess({
    database: `sqlite:${folder.file("pets.db")}`,
    args: ["--contract", contractFile("pets.yaml"), "--open", "--operations", "create,list"],
  });
  const { port } = new URL(server.url);
  let id = 0;
  const create = (headers: Record<string, string>) =>
    fetch(`${server.url}/pets`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: `{"id":${++id},"name":"Rex"}`,
    });
  const preflight = async (origin: string) => {
    const headers = { Origin: origin, "Access-Control-Request-Method": "POST" };
    const { headers: allowed } = await fetch(`${server.url}/pets`, { method: "OPTIONS", headers });
    return allowed.get("access-control-allow-origin");
  };
  for (const origin of ["http://evil.example", "null", "http://127.0.0.1.evil.example"]) {
    const refused = await create({ Origin: origin });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    expect(await preflight(origin)).toBeNull();
  }
  // The name of another site that points at this machine (DNS rebinding).
  for (const path of ["/pets", "/openapi.json"]) {
    const headers = { Host: `evil.example:${port}` };
    expect((await fetch(`${server.url}${path}`, { headers })).status).toBe(421);
  }
  expect((await create({ Host: `evil.example:${port}` })).status).toBe(421);
  for (const origin of ["http://localhost:3000", "http://[::1]:3000", `http://127.0.0.1:${port}`]) {
    const created = await create({ Origin: origin, Host: `localhost:${port}` });
    expect([created.status, created.headers.get("access-control-allow-origin")]).toEqual([201, origin]);
    expect(await preflight(origin)).toBe(origin);
  }
});

test("an operator names the pages that may use a server that needs no token", async () => {
  using folder = new TemporaryFolder();
  await using server = await RunningServer.startInProcess({
    database: `sqlite:${folder.file("pets.db")}`,
    args: ["--contract", contractFile("pets.yaml"), "--open"].concat([
      "--cors",
      "https://app.example",
      "--public-url",
      "https://pets.example/v1",
    ]),
  });
  const create = (id: number, headers: Record<string, string>) =>
    fetch(`${server.url}/pets`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: `{"id":${id},"name":"Rex"}`,
    }).then(({ status }) => status);
  expect(await create(1, { Origin: "https://app.example", Host: "pets.example" })).toBe(201);
  expect(await create(2, { Origin: "https://pets.example", Host: "pets.example" })).toBe(201);
  expect(await create(3, { Origin: "https://other.example" })).toBe(403);
});

test("pages of other sites cannot use a sandbox on this machine whose operations need no token", async () => {
  const args = ["--contract", contractFile("pets.yaml")];
  await using sandbox = await RunningSandbox.startInProcess({ args });
  const { port } = new URL(sandbox.url);
  const statusOf = async (headers: Record<string, string>) => {
    const { status, headers: sent } = await fetch(`${sandbox.url}/pets`, { headers });
    return [status, sent.get("access-control-allow-origin")];
  };
  expect((await statusOf({}))[0]).toBe(200);
  expect(await statusOf({ Origin: "http://localhost:3000" })).toEqual([200, "http://localhost:3000"]);
  expect(await statusOf({ Origin: "http://evil.example" })).toEqual([403, null]);
  expect(await statusOf({ Host: `evil.example:${port}` })).toEqual([421, null]);
  // Its clients are other machines, which call it by names of their network.
  await using shared = await RunningSandbox.startInProcess({ args: [...args, "--host", "0.0.0.0"] });
  const { status } = await fetch(`${shared.url}/pets`, { headers: { Host: "sandbox:8080" } });
  expect(status).toBe(200);
});

const basicThings = thingsDocument({
  post: { security: [{ basic: [] }] },
  collection: {
    get: { security: [{ basic: [] }, { key: [] }], responses: { 200: jsonOf({ type: "array" }) } },
  },
  more: { components: { securitySchemes: { basic: schemes.basic, key: schemes.key } } },
});
const basicHeader = (credentials: string) => ({ Authorization: `basic ${btoa(credentials)}` });

test("Basic credentials have the token as the password of any user", async () => {
  using folder = new TemporaryFolder();
  await Bun.write(folder.file("things.json"), JSON.stringify(basicThings));
  await using server = await RunningServer.startInProcess({
    database: `sqlite:${folder.file("things.db")}`,
    args: ["--contract", folder.file("things.json")],
  });
  const token = await server.createToken();
  const create = (headers: Record<string, string>) =>
    sendJson(`${server.url}/things`, "POST", { id: 1 }, headers);
  // The second one is found by its credentials, which are those of no other scheme.
  for (const user of ["", "ada", "ada", "ü"]) {
    const credentials = Buffer.from(`${user}:${token}`).toString("base64");
    expect((await create({ Authorization: `Basic ${credentials}` })).status).toBe(200);
  }
  for (const wrong of [`ada:${token}x`, `ada${token}`, ":", `${token}:`]) {
    const { status, headers, text } = await create(basicHeader(wrong));
    expect([status, headers.get("www-authenticate")]).toEqual([
      401,
      'Basic realm="plantstore", charset="UTF-8"',
    ]);
    expect(text).toContain("The token is not accepted");
  }
  for (const other of [{}, { Authorization: `Bearer ${token}` }, { "X-API-Key": token }])
    expect(await create(other)).toMatchObject({
      status: 401,
      text: expect.stringContaining(
        "carries no token; send the header Authorization: Basic with any user and the token as the password.",
      ),
    });
  const list = (headers: Record<string, string>) =>
    sendJson(`${server.url}/things`, "GET", undefined, headers);
  expect((await list({ "X-API-Key": token })).status).toBe(200);
  expect((await list(basicHeader(`a:${token}`))).status).toBe(200);
  expect((await list({})).headers.get("www-authenticate")).toBe(
    'Basic realm="plantstore", charset="UTF-8", ApiKey realm="plantstore", header="X-API-Key"',
  );

  const document = (await sendJson(`${server.url}/openapi.json`, "GET", undefined, {})).json as Description;
  const { security } = document.paths["/things"]?.post ?? {};
  expect(security).toEqual([{ basic: [] }]);
});
