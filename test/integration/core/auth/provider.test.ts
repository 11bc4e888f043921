// JWTs of a real OpenID provider, and the store's own tokens.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { freshId, send } from "../../../support/http.ts";
import {
  type Algorithm,
  audience,
  claimsOf,
  HandlerWithIdentity,
  KeyServer,
  ServerWithIdentity,
  SigningKey,
} from "../../../support/identity-provider.ts";
import { withStore } from "../../../support/server.ts";
import { OidcProvider } from "./oidc-provider.ts";

const key = new SigningKey("RS256");
const resources = new AsyncDisposableStack();
let provider: OidcProvider;
beforeAll(async () => {
  provider = resources.use(await OidcProvider.start(key, "gardener", "florist"));
});
afterAll(() => resources.disposeAsync());

describe.each(["discovery", "--jwks-url"])("with %s", (way) => {
  const start = async (...args: string[]) =>
    ServerWithIdentity.start(provider.issuer, [
      ...(way === "discovery" ? [] : ["--jwks-url", await provider.jwksUrl()]),
      ...args,
    ]);
  let identity: ServerWithIdentity;
  beforeAll(async () => {
    identity = await start();
  });
  afterAll(() => identity[Symbol.asyncDispose]());

  test("an access token creates plants, and is accepted repeatedly", async () => {
    const token = await provider.accessToken("gardener", audience);
    for (let round = 0; round < 3; round++) {
      const answer = await identity.create(token);
      expect(answer).toMatchObject({ status: 200, json: { name: "Monstera" } });
    }
    expect((await send(`${identity.server.url}/plants`, bearer(token))).status).toBe(405);
    expect((await send(`${identity.server.url}/nowhere`, bearer(token))).status).toBe(404);
  });

  test("an access token for another audience is rejected", async () => {
    expect(await identity.create(await provider.accessToken("gardener", "urn:other"))).toMatchObject({
      status: 401,
      json: { error: 40101 },
    });
  });

  test("the store's own tokens are accepted as well", async () => {
    const token = await identity.server.createToken("ci");
    expect((await identity.create(token)).status).toBe(200);
    const revoked = await withStore(identity.server.database, "writable", ({ tokens }) =>
      tokens.revoke("ci", Date.now()),
    );
    expect(revoked).toBe(true);
    const refused = await identity.createUntil(401, token);
    expect(refused.json).toMatchObject({ message: expect.stringContaining("unknown, malformed, revoked") });
    expect((await identity.create(await provider.accessToken("gardener", audience))).status).toBe(200);
  });

  test("a client has one rate limit for all of its tokens, and another client has its own", async () => {
    await using limited = await start("--token-rate", "5");
    const tokens = await Promise.all(
      Array.from({ length: 20 }, () => provider.accessToken("gardener", audience)),
    );
    expect(new Set(tokens).size).toBe(tokens.length);
    const other = await provider.accessToken("florist", audience);
    const burst = await Promise.all(tokens.map((token) => limited.create(token)));
    const refused = burst.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(burst.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect(refused[0]?.headers.get("retry-after")).toBe("1");
    expect((await limited.create(other)).status).toBe(200);
  });
});

test("the provider rotates its key while the server runs", async () => {
  const old = new SigningKey("ES256");
  const young = new SigningKey("PS256");
  await using changing = await OidcProvider.start(old, "gardener");
  await using identity = await ServerWithIdentity.start(changing.issuer);
  const oldToken = await changing.accessToken("gardener", audience);
  expect((await identity.create(oldToken)).status).toBe(200);

  changing.rotate(young, old);
  expect((await identity.create(await changing.accessToken("gardener", audience))).status).toBe(200);
  expect((await identity.create(oldToken)).status).toBe(200);
});

test("without a configured issuer a JWT is an unknown token", async () => {
  await using identity = await ServerWithIdentity.start(provider.issuer);
  const token = await provider.accessToken("gardener", audience);
  expect((await identity.create(token)).status).toBe(200);
  await using other = await ServerWithIdentity.start("https://id.example", [
    "--jwks-url",
    await provider.jwksUrl(),
  ]);
  expect(await other.create(token)).toMatchObject({ status: 401, json: { error: 40101 } });
});

const algorithms: readonly Algorithm[] = [
  ...(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const),
  ...(["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const),
];
describe("every algorithm", () => {
  const keys = algorithms.map((algorithm) => new SigningKey(algorithm));
  let publisher: KeyServer;
  let identity: HandlerWithIdentity;
  beforeAll(async () => {
    publisher = new KeyServer(...keys);
    identity = await HandlerWithIdentity.start(publisher.issuer);
  });
  afterAll(() => Promise.all([identity[Symbol.asyncDispose](), publisher[Symbol.asyncDispose]()]));

  test.each(algorithms.map((algorithm, index) => [algorithm, index] as const))(
    "%s is accepted",
    async (_, index) => {
      const token = keys[index]?.sign(claimsOf(publisher.issuer)) ?? "";
      expect((await identity.create(token)).status).toBe(200);
    },
  );
});

test("without a sub the rate limit is the client's, and without both the issuer's", async () => {
  await using keys = new KeyServer(key);
  await using identity = await ServerWithIdentity.start(keys.issuer, ["--token-rate", "1"]);
  const burst = async (...callers: readonly object[]) => {
    const tokens = callers.map((caller, jti) => key.sign(claimsOf(keys.issuer, { ...caller, jti })));
    const answers = await Promise.all(tokens.map((token) => identity.create(token)));
    return answers.map(({ status }) => status);
  };
  // Four creates in one window of a second, or in two: at least one exceeds its window.
  for (const caller of [
    { sub: undefined, client_id: "a" },
    { sub: undefined, azp: "a" },
    { sub: undefined },
    { sub: 5 },
  ])
    expect(await burst(caller, caller, caller, caller)).toContain(429);
  const four = ["a", "b", "c", "d"].map((sub) => ({ sub: `${sub} ${freshId()}` }));
  expect(await burst(...four)).toEqual([200, 200, 200, 200]);
  const alike = freshId().toString();
  const kinds = [{ sub: alike }, { sub: undefined, client_id: alike }, { sub: undefined, azp: alike }];
  expect(await burst(...kinds)).toEqual([200, 200, 200]);
});

function bearer(token: string): RequestInit {
  return { headers: { Authorization: `Bearer ${token}` } };
}
