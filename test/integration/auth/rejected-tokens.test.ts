// JWTs that must be rejected, each a variation of one that is accepted. What jose checks without an
// option of ours is jose's to test, but for the attacks by which others have been broken.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import {
  audience,
  claimsOf,
  encode,
  KeyServer,
  nowSeconds,
  SigningKey,
  startWithIdentity,
} from "../../support/identity-provider.ts";

const why = {
  unknown: "it is unknown, malformed, revoked or expired. Ask the operator for a new one.",
  subjectNotText: "its sub is not a string. Configure the identity provider to issue one.",
  unstorableSubject:
    "its sub has more than 512 characters, or one that is not printable. Get a token with another sub from the identity provider.",
  badSignature:
    "it is malformed, or no key of the identity provider has signed it. Get a new one from the identity provider.",
  expired: "it has expired, by its exp. Get a new one from the identity provider.",
  notYetValid: "it is not valid yet, by its nbf and the clock of this server. Try again later.",
  aud: 'its aud is "urn:other", not "urn:example:plants". Request a token for this service from its identity provider.',
  noAud:
    'its aud is missing, not "urn:example:plants". Request a token for this service from its identity provider.',
  noExp:
    "its exp is missing, not a time in seconds before the year 10000. Configure the identity provider to issue one.",
  nbf: "its nbf is not a number. Configure the identity provider to issue one.",
  cnf: "its cnf binds it to a key (DPoP, mutual TLS), which this service cannot check. Request one without it from the identity provider.",
  logout: 'its typ is "logout+jwt", so it is no access token. Request one from the identity provider.',
  noType: "its typ is null, so it is no access token. Request one from the identity provider.",
} as const;

type Json = Parameters<typeof claimsOf>[1];

const key = new SigningKey();
const attacker = new SigningKey();
const resources = new AsyncDisposableStack();
let provider: KeyServer;
let attackersServer: KeyServer;
let identity: Awaited<ReturnType<typeof startWithIdentity>>;

beforeAll(async () => {
  provider = resources.use(new KeyServer(key));
  provider.keys = [...provider.keys, { kty: "oct", kid: "secret", k: encode("known to all") }];
  attackersServer = resources.use(new KeyServer(attacker));
  const intervals = { keysAgeMsMax: 600_000, keysIntervalMsMin: 200 };
  identity = resources.use(await startWithIdentity(provider.issuer, { intervals }));
});
afterAll(() => resources.disposeAsync());

async function expectRejected(token: string, reason: keyof typeof why): Promise<void> {
  const answer = await identity.create(token);
  expect(answer.json).toEqual({ error: 40101, message: `The bearer token is not accepted: ${why[reason]}` });
  expect(answer.status).toBe(401);
  expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="plantstore", error="invalid_token"');
}

const sign = (claims: Json = {}, header: Json = {}) => key.sign(claimsOf(provider.issuer, claims), header);

/** A token with another part instead of one of its three. */
function withPart(token: string, index: number, part: string): string {
  return token.split(".").with(index, part).join(".");
}

test.each<[name: string, token: () => string]>([
  ["the claims that the others differ from", () => sign()],
  ["a list of audiences that holds ours", () => sign({ aud: ["urn:other", audience] })],
  ["nbf ahead by less than clocks may differ", () => sign({ nbf: nowSeconds() + 5 })],
  ["exp with a fraction", () => sign({ exp: nowSeconds() + 600.5 })],
  ["typ JWT", () => sign({}, { typ: "JWT" })],
  ["typ in full", () => sign({}, { typ: "application/AT+JWT" })],
  ["no typ", () => sign({}, { typ: undefined })],
  ["of 200 groups, in 12 KB", () => sign({ groups: Array<string>(200).fill(crypto.randomUUID()) })],
  ["the longest sub", () => sign({ sub: "ü".repeat(512) })],
  ["an empty sub", () => sign({ sub: "" })],
  ["no sub", () => sign({ sub: undefined })],
])("accepted: %s", async (_, token) => {
  expect((await identity.create(token())).status).toBe(200);
});

/**
 * The last of the 86 digits of a signature carries two bits, and four that must be zero (RFC 4648,
 * section 3.5).
 */
function respell(token: string): string {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return token.slice(0, -1) + digits[digits.indexOf(token.at(-1) ?? "") + 1];
}

/** Each is made from a token that is accepted. */
test.each<[name: string, reason: keyof typeof why, edit: (token: string) => string]>([
  ["another audience", "aud", () => sign({ aud: "urn:other" })],
  ["no audience", "noAud", () => sign({ aud: undefined })],
  ["another audience, expired", "aud", () => sign({ aud: "urn:other", exp: 1 })],
  ["no exp", "noExp", () => sign({ exp: undefined })],
  ["bound to a key that the sender must prove", "cnf", () => sign({ cnf: { jkt: "x" } })],
  ["the type of a logout token", "logout", () => sign({}, { typ: "logout+jwt" })],
  ["a type that is not a string", "noType", () => sign({}, { typ: null })],
  ["expired a second ago", "expired", () => sign({ exp: nowSeconds() - 1 })],
  ["not yet valid", "notYetValid", () => sign({ nbf: nowSeconds() + 60 })],
  ["nbf as text", "nbf", () => sign({ nbf: "0" })],
  [
    "an attacker's, under a known kid",
    "badSignature",
    () => attacker.sign(claimsOf(provider.issuer), { kid: key.kid }),
  ],
  ["an attacker's, under an unknown kid", "badSignature", () => attacker.sign(claimsOf(provider.issuer))],
  [
    "claims of another token",
    "badSignature",
    (token) => withPart(sign({ exp: 1 }), 1, token.split(".")[1] ?? ""),
  ],
  ["a signature of zeros (CVE-2022-21449)", "badSignature", (token) => withPart(token, 2, "A".repeat(86))],
  ["a payload that is no JSON", "badSignature", () => key.sign("{")],
  ["three empty parts", "badSignature", () => ".."],
  ["an equals sign behind its signature", "badSignature", (token) => `${token}=`],
  ["a space in its signature", "badSignature", (token) => `${token.slice(0, -5)} ${token.slice(-5)}`],
  ["another spelling of its last bits", "badSignature", respell],
  ["two parts", "unknown", (token) => token.slice(0, token.lastIndexOf("."))],
  ["five parts, as an encrypted one has", "unknown", (token) => `${token}.${encode("tag")}.${encode("tag")}`],
  ["a prefix that makes it one of ours", "unknown", (token) => `pst_${token}`],
  ["a sub that is a number", "subjectNotText", () => sign({ sub: 1 })],
  ["a sub that is a list", "subjectNotText", () => sign({ sub: ["gardener"] })],
  ["a sub that is null", "subjectNotText", () => sign({ sub: null })],
  ["a sub of 513 characters", "unstorableSubject", () => sign({ sub: "x".repeat(513) })],
  ["U+0000 in its sub", "unstorableSubject", () => sign({ sub: "a\0" })],
  ["a line break in its sub", "unstorableSubject", () => sign({ sub: "a\nb" })],
  ["half a surrogate pair in its sub", "unstorableSubject", () => sign({ sub: "\ud800" })],
])("rejected: %s", async (_, reason, edit) => {
  await expectRejected(edit(sign()), reason);
});

test("alg none, and HS256 with public data as the secret", async () => {
  for (const alg of ["none", "nOnE"]) {
    await expectRejected(sign({}, { alg }), "badSignature");
    await expectRejected(withPart(sign({}, { alg }), 2, ""), "badSignature");
  }
  for (const secret of [JSON.stringify(key.jwk), "known to all", ""])
    for (const kid of [key.kid, "secret"]) {
      const input = `${encode({ alg: "HS256", typ: "at+jwt", kid })}.${encode(claimsOf(provider.issuer))}`;
      const signature = createHmac("sha256", secret).update(input).digest("base64url");
      await expectRejected(`${input}.${signature}`, "badSignature");
    }
});

test("a key, or a URL of keys, in the token itself is ignored", async () => {
  const headers = [{ jwk: attacker.jwk }, { jku: attackersServer.jwksUrl }, { x5u: attackersServer.jwksUrl }];
  for (const kid of [key.kid, undefined])
    for (const header of headers)
      await expectRejected(attacker.sign(claimsOf(provider.issuer), { kid, ...header }), "badSignature");
  expect(attackersServer.requests).toEqual([]);
});

test("an issuer with a slash more, and an exp that is no time in seconds", async () => {
  const iss = `${provider.issuer}/`;
  const slash = "They differ in the slash at the end: ask the operator to set --jwt-issuer to";
  expect((await identity.create(sign({ iss }))).text).toContain(slash);
  expect((await identity.create(sign({ iss: "https://other.example" }))).text).not.toContain("slash");
  for (const exp of [Date.now() + 600_000, 1e300])
    expect((await identity.create(sign({ exp }))).text).toContain("its exp is ");
});

/** The message in the log for the last request. */
function logged(): string | undefined {
  const last = identity.events.findLast((event) => event.kind === "requestCompleted");
  return last?.kind === "requestCompleted" ? last.request.message : undefined;
}

test("the log alone says which claim of an unverified token is wrong, on one line and cut", async () => {
  const claims = claimsOf("https://other.example", { sub: "secret" });
  await expectRejected(attacker.sign(claims, { kid: key.kid }), "badSignature");
  expect(logged()).toContain(`If it is genuine: `);
  expect(logged()).toContain(`its iss is "https://other.example", not "${provider.issuer}".`);
  expect(logged()).not.toContain("secret");

  const iss = "\u2028".repeat(1_000);
  await expectRejected(attacker.sign(claimsOf(iss), { kid: key.kid }), "badSignature");
  expect(logged()?.length).toBeLessThan(1_000);
  expect(logged()).not.toContain("\u2028");
});

test("the audience is that of another claim where the operator says so, and of aud, if there is one", async () => {
  await using cognito = await startWithIdentity(provider.issuer, { audienceClaim: "client_id" });
  const create = async (claims: Json) => (await cognito.create(sign(claims))).status;
  expect(await create({ aud: undefined, client_id: audience })).toBe(200);
  expect(await create({ client_id: audience })).toBe(200);
  expect(await create({ aud: "urn:other", client_id: audience })).toBe(401);
  // Cognito's ID tokens have the client as their aud, and no client_id.
  expect(await create({ client_id: undefined })).toBe(401);
  const answer = await cognito.create(sign({ aud: undefined, client_id: "other" }));
  expect(answer.text).toContain('its client_id is \\"other\\", not');
});
