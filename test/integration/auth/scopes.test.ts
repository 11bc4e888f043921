// Scopes: operations that require some, and the tokens of a store and of a provider that have them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { toExactJson } from "../../../src/json/exact-json.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { sendJson } from "../../support/contract-sandbox.ts";
import { readSingle } from "../../support/contracts.ts";
import { jsonOf, objectOf, thingsDocument } from "../../support/descriptions.ts";
import { audience, claimsOf, KeyServer, SigningKey } from "../../support/identity-provider.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { runCommand, TemporaryFolder } from "../../support/server.ts";
import { openedStore } from "../../support/stored-plants.ts";

const one = objectOf({ id: { type: "integer" }, name: { type: "string" } }, ["id", "name"]);
const requires = (...security: object[]) => ({ security, responses: { 200: jsonOf(one) } });
const text = toExactJson(
  thingsDocument({
    body: one,
    post: requires({ oauth: ["things:write", "things:read"] }, { openId: ["admin"] }),
    item: {
      get: requires({ oauth: ["things:read"] }, { oauth: [] }),
      patch: { ...requires({ oauth: ["admin"] }), requestBody: jsonOf(objectOf({ name: {} })) },
      put: { ...requires({ oauth: null } as never), requestBody: jsonOf(one) },
      delete: requires({ oauth: ["\u{1f331}\n"] }, { oauth: ["all things"] }),
    },
    more: {
      components: {
        securitySchemes: { oauth: { type: "oauth2", flows: {} }, openId: { type: "openIdConnect" } },
      },
    },
  }),
);
const key = new SigningKey();
const resources = new AsyncDisposableStack();
let provider: KeyServer;
let server: Awaited<ReturnType<typeof startInProcess>>;
let database: string;

beforeAll(async () => {
  provider = resources.use(new KeyServer(key));
  database = `sqlite:${resources.use(new TemporaryFolder()).file("things.db")}`;
  const store = await openedStore(database, undefined, { text });
  const operations = store.contract.collections.flatMap((each) => collectionOperations(each));
  const identityProvider = { issuer: provider.issuer, audience, jwksUrl: undefined, keysAgeMsMax: 600_000 };
  server = resources.use(await startInProcess({ store, operations, identityProvider }));
  expect((await request("POST", "/things", await server.createToken())).status).toBe(200);
});
afterAll(() => resources.disposeAsync());

const request = (method: string, path: string, token: string) => {
  const body = method === "GET" ? undefined : { ...(method === "POST" && { id: 7 }), name: "a" };
  return sendJson(server.url + path, method, body, { Authorization: `Bearer ${token}` });
};

async function issue(name: string, ...args: string[]): Promise<string> {
  const all = ["token", "create", "--name", name, ...args, "--database", database];
  return (await runCommand(all)).stdout.trim();
}

test.each([
  [[], 200, 200],
  [["--scope", "things:write things:read other"], 200, 403],
  [["--scope", "admin"], 200, 200],
  [["--scope", "things:write"], 403, 403],
])("a token issued with %j gets %d for a create, and %d for a change", async (args, created, changed) => {
  const token = await issue(`token ${args.join(" ")}`, ...args);
  const create = await request("POST", "/things", token);
  expect(create.status).toBe(created);
  expect((await request("PATCH", "/things/7", token)).status).toBe(changed);
  // One of its requirements names no scope.
  expect((await request("GET", "/things/7", token)).status).toBe(200);
  expect((await request("GET", "/nowhere", token)).status).toBe(404);
  if (created !== 403) return;
  expect(create.json).toEqual({
    error: 40300,
    message:
      "The token lacks a scope that the operation requires; send one with things:write things:read, or with admin.",
  });
  expect(create.headers.get("www-authenticate")).toBe(
    'Bearer realm="plantstore", error="insufficient_scope", scope="things:write things:read"',
  );
});

test.each([
  [{}, 200],
  [{ scope: "things:read things:write" }, 200],
  [{ scp: ["admin"] }, 200],
  [{ scp: "admin" }, 200],
  [{ scope: "things:read" }, 403],
  [{ scope: "" }, 403],
  [{ scope: 5, scp: ["admin"] }, 403],
])("a JWT with %j gets %d", async (claims, status) => {
  const token = key.sign(claimsOf(provider.issuer, { sub: JSON.stringify(claims), ...claims }));
  expect((await request("POST", "/things", token)).status).toBe(status);
});

test("a rotated token keeps its scopes, which the list shows", async () => {
  await issue("rotated", "--scope", "things:read");
  const rotated = await runCommand(["token", "rotate", "rotated", "--database", database]);
  expect((await request("POST", "/things", rotated.stdout.trim())).status).toBe(403);
  const list = await runCommand(["token", "list", "--json", "--database", database]);
  const scopes = list.stdout
    .split("\n")
    .flatMap((line) => /"rotated".*"scopes":"([^"]*)"/.exec(line)?.[1] ?? []);
  expect(scopes).toEqual(["things:read", "things:read"]);
});

test("what is no scope in a contract is not sent as one, two in one text are two, and none is none", async () => {
  const [other, both] = [
    await issue("other", "--scope", "all"),
    await issue("both", "--scope", "things all"),
  ];
  const refused = await request("DELETE", "/things/9", other);
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
    403,
    'Bearer realm="plantstore", error="insufficient_scope", scope="all things"',
  ]);
  expect((await request("DELETE", "/things/9", both)).status).toBe(404);
  // The body has no id.
  expect((await request("PUT", "/things/9", other)).status).toBe(400);
});

test("what cannot be a scope is refused", async () => {
  const refused = await runCommand([
    "token",
    "create",
    "--name",
    "x",
    "--scope",
    'a "b"',
    "--database",
    database,
  ]);
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("is not a list of scopes")]);
});

test("the description has the error where scopes are required, and only there", async () => {
  const collection = await readSingle({ text });
  const { paths, info } = servedDocument(collection, collectionOperations(collection));
  const forbidden = paths["/things"]?.post?.responses["403"];
  expect(JSON.stringify(forbidden)).toContain("send one with things:write things:read, or with admin");
  expect(JSON.stringify(forbidden)).toContain('error=\\"insufficient_scope\\"');
  expect(paths["/things/{id}"]?.get?.responses).not.toHaveProperty("403");
  expect(info.description).toContain("| 40300 |");
});
