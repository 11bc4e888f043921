// The bounds of what is kept for the tokens of an identity provider, whose responses and signatures
// the test makes up.

import { afterEach, beforeEach, expect, jest, type Mock, spyOn, test } from "bun:test";
import { ProviderKeys } from "../../../src/auth/jwks.ts";
import { JwtVerifier } from "../../../src/auth/jwt-verifier.ts";
import { audience, claimsOf, encode, SigningKey } from "../../support/identity-provider.ts";

const issuer = "https://id.example";
const provider = { issuer, audience, jwksUrl: `${issuer}/keys`, keysAgeMsMax: 600_000 };
const key = new SigningKey();

let verified: Mock<typeof crypto.subtle.verify>;

beforeEach(() => {
  verified = spyOn(crypto.subtle, "verify").mockResolvedValue(true);
  spyOn(globalThis, "fetch").mockImplementation((async () => Response.json({ keys: [key.jwk] })) as never);
});
afterEach(() => jest.restoreAllMocks());

/** A token whose signature is not the key's. */
const tokenOf = (jti: number) =>
  `${encode({ alg: "ES256", typ: "at+jwt", kid: key.kid })}.${encode(claimsOf(issuer, { jti }))}.AAAA`;

/** A verifier that has the keys. */
async function startedVerifier(): Promise<JwtVerifier> {
  const verifier = new JwtVerifier(provider, Date.now, () => undefined);
  await verifier.verify(tokenOf(-1), false);
  return verifier;
}

test("10,000 verified tokens are remembered, and the oldest is forgotten for another", async () => {
  const verifier = await startedVerifier();
  const tokens = Array.from({ length: 10_001 }, (_, jti) => tokenOf(jti));
  for (const token of tokens) await verifier.verify(token, false);
  const isRemembered = (token = "") => !(verifier.verify(token, false) instanceof Promise);
  expect([tokens[1], tokens.at(-1), tokens[0]].map(isRemembered)).toEqual([true, true, false]);
  verifier.stop();
});

test.each([
  [1_024, false],
  [64, true],
])("%d signatures are checked at once, with a long body: %p", async (count, hasLongBody) => {
  const gate = Promise.withResolvers<boolean>();
  const verifier = await startedVerifier();
  verified.mockReturnValue(gate.promise);
  const results = Array.from({ length: count + 1 }, (_, jti) => verifier.verify(tokenOf(jti), hasLongBody));
  expect(results.filter((result) => result instanceof Promise)).toHaveLength(count);
  expect(results.at(-1)).toMatchObject({ code: "unavailable" });
  gate.resolve(true);
  await Promise.all(results);
  expect(verifier.verify(tokenOf(-2), hasLongBody)).toBeInstanceOf(Promise);
  verifier.stop();
});

test("64 key ids that the provider does not have are remembered", async () => {
  const keys = new ProviderKeys(
    provider,
    () => undefined,
    () => undefined,
  );
  // The first fetch is for nobody.
  await keys.look("first");
  await Promise.all(Array.from({ length: 65 }, (_, id) => keys.look(`${id}`)));
  expect(await keys.look("1")).toBe("asked");
  expect(await keys.look("0")).toBe("tooSoon");
  keys.stop();
});
