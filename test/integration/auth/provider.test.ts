// JWTs of a real OpenID provider (oidc-provider, certified by the OpenID Foundation) beside the
// store's own tokens, the accepted algorithms, and what of a token is its caller.

import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { freshId } from "../../support/http.ts";
import {
  audience,
  claimsOf,
  KeyServer,
  notAccepted,
  SigningKey,
  startWithIdentity,
} from "../../support/identity-provider.ts";

// It warns of a runtime other than Node.js, and of an adapter in memory.
spyOn(console, "warn").mockImplementation(() => undefined);
const { default: Provider } = await import("oidc-provider");

const client = { client_id: "gardener", client_secret: "a secret of thirty-two characters" };

/** Starts a provider with one client. */
async function startOidcProvider() {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const getResourceServerInfo = (_: unknown, audience: string) =>
    ({ scope: "", audience, accessTokenFormat: "jwt", accessTokenTTL: 600 }) as const;
  const provider = new Provider(issuer, {
    clients: [{ ...client, grant_types: ["client_credentials"], redirect_uris: [], response_types: [] }],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: "1", alg: "RS256", use: "sig" }] as never },
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo },
    },
  });
  server.on("request", provider.callback());
  return {
    issuer,
    /**
     * An access token by the client credentials flow (RFC 6749, section 4.4) for an audience (RFC
     * 8707).
     */
    async accessToken(resource: string): Promise<string> {
      const form = { grant_type: "client_credentials", ...client, resource };
      const answer = await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams(form) });
      const { access_token: token } = (await answer.json()) as Record<string, string>;
      if (token === undefined) throw new Error(`No access token: ${answer.status}`);
      return token;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("access tokens of a discovered provider for the audience are accepted, beside the store's own", async () => {
  await using provider = await startOidcProvider();
  await using identity = await startWithIdentity(provider.issuer);
  const token = await provider.accessToken(audience);
  for (const accepted of [token, token, await identity.createToken("ci")])
    expect(await identity.create(accepted)).toMatchObject({ status: 200, json: { name: "Monstera" } });
  expect(await identity.create(await provider.accessToken("urn:other"))).toMatchObject(notAccepted);
});

const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
test("each of these algorithms is accepted", async () => {
  await using provider = new KeyServer();
  const keys = await Promise.all(
    algorithms.map(async (alg) => ({ alg, ...(await generateKeyPair(alg, { extractable: true })) })),
  );
  provider.keys = await Promise.all(
    keys.map(async ({ alg, publicKey }) => ({ ...(await exportJWK(publicKey)), kid: alg, alg })),
  );
  await using identity = await startWithIdentity(provider.issuer);
  for (const { alg, privateKey } of keys) {
    const jwt = new SignJWT(claimsOf(provider.issuer)).setProtectedHeader({ alg, kid: alg });
    expect([alg, (await identity.create(await jwt.sign(privateKey))).status]).toEqual([alg, 200]);
  }
});

test("without a sub the rate limit is the client's, and without both the issuer's", async () => {
  const key = new SigningKey();
  await using keys = new KeyServer(key);
  await using identity = await startWithIdentity(keys.issuer, {
    // One create in a window that is longer than the test.
    rateLimit: { requestsPerSecond: 0.001, burst: 1 },
  });
  const burst = async (...callers: readonly object[]) => {
    const tokens = callers.map((caller, jti) => key.sign(claimsOf(keys.issuer, { ...caller, jti })));
    const answers = await Promise.all(tokens.map((token) => identity.create(token)));
    return answers.map(({ status }) => status);
  };
  for (const caller of [{ client_id: "a" }, { azp: "a" }, {}])
    expect(await burst({ sub: undefined, ...caller }, { sub: undefined, ...caller })).toContain(429);
  const alike = freshId().toString();
  const kinds = [{ sub: alike }, { sub: undefined, client_id: alike }, { sub: undefined, azp: alike }];
  expect(await burst(...kinds)).toEqual([200, 200, 200]);
});

test("a sub, a client_id and an azp of one name are three creators, and so are those without any", async () => {
  const key = new SigningKey();
  await using keys = new KeyServer(key);
  await using identity = await startWithIdentity(keys.issuer);
  const kinds = [
    { sub: "a" },
    { sub: undefined, client_id: "a" },
    { sub: "", azp: "a" },
    { sub: undefined },
    { sub: keys.issuer },
  ];
  for (const kind of [...kinds, ...kinds])
    expect((await identity.create(key.sign(claimsOf(keys.issuer, kind)))).status).toBe(200);
  using sql = new Database(identity.database.slice("sqlite:".length));
  expect(sql.query("SELECT count(DISTINCT creator), count(*) FROM plants").values()).toEqual([[5, 10]]);
});

test("every claim that is required must be equal, or a list that has the value", async () => {
  const key = new SigningKey();
  await using keys = new KeyServer(key);
  const claims = ["repository_owner=acme", "groups=plants=yes", "email_verified=true"];
  await using identity = await startWithIdentity(keys.issuer, { claims });
  const right = { repository_owner: "acme", groups: ["x", "plants=yes"], email_verified: true };
  const statusOf = async (others: object) =>
    (await identity.create(key.sign(claimsOf(keys.issuer, { ...right, ...others })))).status;
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ groups: "plants=yes", email_verified: "true" })).toBe(200);
  for (const wrong of [
    { repository_owner: "acm" },
    { repository_owner: "acme2" },
    { repository_owner: undefined },
    { repository_owner: { acme: "acme" } },
    { groups: ["plants"] },
    { groups: [["plants=yes"]] },
    { email_verified: false },
  ])
    expect([wrong, await statusOf(wrong)]).toEqual([wrong, 401]);
});
