// JWTs of a real OpenID provider, and the store's own tokens.

import { expect, test } from "bun:test";
import { freshId } from "../../../support/http.ts";
import {
  type Algorithm,
  audience,
  claimsOf,
  KeyServer,
  notAccepted,
  SigningKey,
  startWithIdentity,
} from "../../../support/identity-provider.ts";
import { startOidcProvider } from "./oidc-provider.ts";

test.each(["discovery", "the URL of the keys"])(
  "with %s, access tokens for the audience are accepted, beside the store's own",
  async (way) => {
    await using provider = await startOidcProvider(new SigningKey("RS256"));
    const setup = way === "discovery" ? {} : { jwksUrl: await provider.jwksUrl() };
    await using identity = await startWithIdentity(provider.issuer, setup);
    const token = await provider.accessToken(audience);
    for (const accepted of [token, token, await identity.createToken("ci")])
      expect(await identity.create(accepted)).toMatchObject({ status: 200, json: { name: "Monstera" } });
    const other = await provider.accessToken("urn:other");
    expect(await identity.create(other)).toMatchObject(notAccepted);
  },
);

const algorithms: readonly Algorithm[] = [
  ...(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const),
  ...(["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const),
];
test("each of these algorithms is accepted", async () => {
  const keys = algorithms.map((algorithm) => new SigningKey(algorithm));
  await using provider = new KeyServer(...keys);
  await using identity = await startWithIdentity(provider.issuer);
  for (const key of keys)
    expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
});

test("without a sub the rate limit is the client's, and without both the issuer's", async () => {
  const key = new SigningKey();
  await using keys = new KeyServer(key);
  await using identity = await startWithIdentity(keys.issuer, {
    // One create in a window that is longer than the test.
    rateLimit: { createsPerSecond: 0.001, burst: 1 },
  });
  const burst = async (...callers: readonly object[]) => {
    const tokens = callers.map((caller, jti) => key.sign(claimsOf(keys.issuer, { ...caller, jti })));
    const answers = await Promise.all(tokens.map((token) => identity.create(token)));
    return answers.map(({ status }) => status);
  };
  for (const caller of [
    { sub: undefined, client_id: "a" },
    { sub: undefined, azp: "a" },
    { sub: undefined },
    { sub: 5 },
  ])
    expect(await burst(caller, caller)).toContain(429);
  const four = ["a", "b", "c", "d"].map((sub) => ({ sub: `${sub} ${freshId()}` }));
  expect(await burst(...four)).toEqual([200, 200, 200, 200]);
  const alike = freshId().toString();
  const kinds = [{ sub: alike }, { sub: undefined, client_id: alike }, { sub: undefined, azp: alike }];
  expect(await burst(...kinds)).toEqual([200, 200, 200]);
});
