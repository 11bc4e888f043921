// JWTs that must be rejected, each a variation of one that is accepted.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import {
  audience,
  claimsOf,
  encode,
  type Json,
  KeyServer,
  nowSeconds,
  SigningKey,
  startWithIdentity,
  withPart,
} from "../../../support/identity-provider.ts";

const why = {
  unknown: "it is unknown, malformed, revoked or expired. Ask the operator for a new one.",
  badSignature:
    "it is malformed, or no key of the identity provider has signed it. Get a new one from the identity provider.",
  expired: "it has expired. Get a new one from the identity provider.",
  notYetValid: "it is not valid yet, by its nbf and the clock of this server. Try again later.",
  claimMismatch:
    "its claims are not valid for this service; request a token issued for it from the identity provider.",
} as const;

const key = new SigningKey("ES256");
const twin = new SigningKey("ES256");
const rsaKey = new SigningKey("RS256");
const weakKey = new SigningKey("RS512", "weak", 1_024);
const encryptionKey = new SigningKey("ES384");
const attacker = new SigningKey("ES256");
const published = [key, twin, rsaKey, weakKey, encryptionKey];

const resources = new AsyncDisposableStack();
let provider: KeyServer;
let attackersServer: KeyServer;
let identity: Awaited<ReturnType<typeof startWithIdentity>>;

beforeAll(async () => {
  provider = resources.use(new KeyServer());
  const secret = { kty: "oct", kid: "secret", k: encode("known to all") };
  provider.jwks = {
    keys: [
      ...published.map(({ jwk }) => (jwk.kid === encryptionKey.kid ? { ...jwk, use: "enc" } : jwk)),
      secret,
    ],
  };
  attackersServer = resources.use(new KeyServer(attacker));
  identity = resources.use(
    await startWithIdentity(provider.issuer, {
      intervals: { keysAgeMsMax: 600_000, keysIntervalMsMin: 200 },
    }),
  );
});
afterAll(() => resources.disposeAsync());

async function expectRejected(token: string, reason: keyof typeof why): Promise<void> {
  const answer = await identity.create(token);
  expect(answer.json).toEqual({ error: 40101, message: `The bearer token is not accepted: ${why[reason]}` });
  expect(answer.status).toBe(401);
  expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="plantstore", error="invalid_token"');
}

const sign = (claims: Json = {}, header: Json = {}) => key.sign(claimsOf(provider.issuer, claims), header);

const accepted: readonly [name: string, token: () => string][] = [
  ["the claims that the others differ from", () => sign()],
  ["a list of audiences that holds ours", () => sign({ aud: ["urn:other", audience] })],
  ["no kid where one key fits", () => rsaKey.sign(claimsOf(provider.issuer), { kid: undefined })],
  ["nbf ahead by less than clocks may differ", () => sign({ nbf: nowSeconds() + 5 })],
  ["exp with a fraction", () => sign({ exp: nowSeconds() + 600.5 })],
  ["typ JWT", () => sign({}, { typ: "JWT" })],
  ["typ in full", () => sign({}, { typ: "application/AT+JWT" })],
  ["no typ", () => sign({}, { typ: undefined })],
  ["a long one", () => sign({ groups: "x".repeat(5_500) })],
  ["no sub", () => sign({ sub: undefined })],
  ["crit with the usual value of b64", () => sign({}, { crit: ["b64"], b64: true })],
];
test.each(accepted)("accepted: %s", async (_, token) => {
  expect((await identity.create(token())).status).toBe(200);
});

const claims = () => claimsOf(provider.issuer);
const json = () => JSON.stringify(claims());

/**
 * The last of the 86 digits of a signature carries two bits, and four that must be zero (RFC 4648,
 * section 3.5).
 */
function respell(token: string): string {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return token.slice(0, -1) + digits[digits.indexOf(token.at(-1) ?? "") + 1];
}

/** Each is made from a token that is accepted. */
const rejected: readonly [name: string, reason: keyof typeof why, edit: (token: string) => string][] = [
  ["another audience", "claimMismatch", () => sign({ aud: "urn:other" })],
  ["an audience that ours begins with", "claimMismatch", () => sign({ aud: audience.slice(0, -1) })],
  ["a list of other audiences", "claimMismatch", () => sign({ aud: ["urn:other", "urn:another"] })],
  ["no audience", "claimMismatch", () => sign({ aud: undefined })],
  ["another issuer", "claimMismatch", () => sign({ iss: "https://id.example" })],
  ["an issuer with a slash more", "claimMismatch", () => sign({ iss: `${provider.issuer}/` })],
  ["a list of issuers", "claimMismatch", () => sign({ iss: [provider.issuer] })],
  ["no issuer", "claimMismatch", () => sign({ iss: undefined })],
  ["expired a second ago", "expired", () => sign({ exp: nowSeconds() - 1 })],
  ["expired in 1970", "expired", () => sign({ exp: 0 })],
  ["no exp", "claimMismatch", () => sign({ exp: undefined })],
  ["exp as text", "claimMismatch", () => sign({ exp: String(nowSeconds() + 600) })],
  ["exp in milliseconds", "claimMismatch", () => sign({ exp: Date.now() + 600_000 })],
  ["exp 1e300", "claimMismatch", () => sign({ exp: 1e300 })],
  ["not yet valid", "notYetValid", () => sign({ nbf: nowSeconds() + 60 })],
  ["nbf as text", "claimMismatch", () => sign({ nbf: "0" })],
  ["bound to a key that the sender must prove", "claimMismatch", () => sign({ cnf: { jkt: "x" } })],
  ["exp that is infinite", "claimMismatch", () => key.sign(json().replace(/"exp":\d+/, '"exp":1e999'))],
  ["exp twice, the last one long ago", "expired", () => key.sign(json().replace(/}$/, ',"exp":1}'))],
  ["a payload that is a list", "badSignature", () => key.sign(`[${json()}]`)],
  ["a payload that is null", "badSignature", () => key.sign("null")],
  ["a payload that is no JSON", "badSignature", () => key.sign(json().slice(1))],
  ["a payload that is empty", "badSignature", () => key.sign("")],
  ["claims from a prototype", "claimMismatch", () => key.sign(`{"__proto__":${json()}}`)],
  ["crit with an unknown parameter", "badSignature", () => sign({}, { crit: ["exp"], exp: 1 })],
  ["crit that is empty", "badSignature", () => sign({}, { crit: [] })],
  ["crit with an unencoded payload", "badSignature", () => sign({}, { crit: ["b64"], b64: false })],
  ["another algorithm of the same key type", "badSignature", () => sign({}, { alg: "ES256K" })],
  ["an algorithm that is not a string", "badSignature", () => sign({}, { alg: 256 })],
  ["no algorithm", "badSignature", () => sign({}, { alg: undefined })],
  ["no kid where several keys fit", "badSignature", () => sign({}, { kid: undefined })],
  ["the type of a logout token", "claimMismatch", () => sign({}, { typ: "logout+jwt" })],
  ["a type that is not a string", "claimMismatch", () => sign({}, { typ: null })],
  [
    "a signature of an attacker under a known kid",
    "badSignature",
    () => attacker.sign(claims(), { kid: key.kid }),
  ],
  ["a signature of another key of the provider", "badSignature", () => twin.sign(claims(), { kid: key.kid })],
  ["a signature of a key of another type", "badSignature", () => sign({}, { alg: "RS256" })],
  ["a signature by a key that is too short", "badSignature", () => weakKey.sign(claims())],
  ["a signature of another token", "badSignature", () => withPart(sign({ exp: 1 }), 1, encode(claims()))],
  ["a signature that is empty", "badSignature", (token) => withPart(token, 2, "")],
  ["a signature cut short", "badSignature", (token) => token.slice(0, -10)],
  [
    "a signature of zeros (CVE-2022-21449)",
    "badSignature",
    (token) => withPart(token, 2, encode(Buffer.alloc(64))),
  ],
  [
    "a signature in DER",
    "badSignature",
    (token) => withPart(token, 2, encode(Buffer.from("3006020101020101", "hex"))),
  ],
  [
    "a signature with a changed header",
    "badSignature",
    (token) => withPart(token, 0, encode({ alg: "ES256", kid: key.kid })),
  ],
  ["two parts", "unknown", (token) => token.slice(0, token.lastIndexOf("."))],
  ["a dot at its end", "unknown", (token) => `${token}.`],
  ["a dot more inside", "unknown", (token) => token.replace(".", "..")],
  ["five parts, as an encrypted one has", "unknown", (token) => `${token}.${encode("tag")}.${encode("tag")}`],
  ["three empty parts", "badSignature", () => ".."],
  ["a header that is not base64url", "badSignature", (token) => `~${token}`],
  ["a header that is not JSON", "badSignature", (token) => withPart(token, 0, encode("{"))],
  ["a header that is a list", "badSignature", (token) => withPart(token, 0, encode("[]"))],
  ["a header that is not UTF-8", "badSignature", (token) => withPart(token, 0, encode(Buffer.of(0xff)))],
  ["a payload that is not base64url", "badSignature", (token) => withPart(token, 1, "a~b")],
  ["a signature that is not base64url", "badSignature", (token) => withPart(token, 2, "a~b")],
  ["a space in its header", "badSignature", (token) => token.replace("e", "e ")],
  ["a space in its signature", "badSignature", (token) => `${token.slice(0, -5)} ${token.slice(-5)}`],
  ["a tab in its signature", "badSignature", (token) => `${token.slice(0, -5)}\t${token.slice(-5)}`],
  ["an equals sign behind its signature", "badSignature", (token) => `${token}=`],
  ["a tab before it", "badSignature", (token) => `\t${token}`],
  ["a letter beyond ASCII", "badSignature", (token) => `${token}é`],
  ["another spelling of its last bits", "badSignature", respell],
  ["a signature of one digit", "badSignature", (token) => withPart(token, 2, "a")],
  ["a prefix that makes it one of ours", "unknown", (token) => `pst_${token}`],
];
test.each(rejected)("rejected: %s", async (_, reason, edit) => {
  await expectRejected(edit(sign()), reason);
});

test.each(["none", "None", "NONE", "nOnE"])("alg %s, with a signature and without", async (alg) => {
  const unsigned = sign({}, { alg });
  await expectRejected(unsigned, "badSignature");
  await expectRejected(withPart(unsigned, 2, ""), "badSignature");
  await expectRejected(withPart(sign({}, { alg, kid: undefined }), 2, ""), "badSignature");
});

test.each([256, 384, 512])("HS%d with public data as the secret", async (bits) => {
  const secrets = [
    ...[rsaKey, key].flatMap(({ publicKey, jwk }) => [
      publicKey.export({ format: "pem", type: "spki" }),
      publicKey.export({ format: "der", type: "spki" }),
      JSON.stringify(jwk),
    ]),
    "known to all",
    "",
  ];
  for (const secret of secrets) {
    for (const kid of [rsaKey.kid, key.kid, "secret"]) {
      const header = encode({ alg: `HS${bits}`, typ: "at+jwt", kid });
      const input = `${header}.${encode(claimsOf(provider.issuer))}`;
      const signature = createHmac(`sha${bits}`, secret).update(input).digest("base64url");
      await expectRejected(`${input}.${signature}`, "badSignature");
    }
  }
});

test("a key, or a URL of keys, in the token itself is ignored", async () => {
  const claims = claimsOf(provider.issuer);
  for (const kid of [key.kid, undefined]) {
    const given: readonly Json[] = [
      { jwk: attacker.jwk },
      { jku: attackersServer.jwksUrl },
      { x5u: `${attackersServer.issuer}/certificate` },
      { x5c: [encode("certificate")] },
    ];
    for (const header of given)
      await expectRejected(attacker.sign(claims, { kid, ...header }), "badSignature");
  }
  expect(attackersServer.requests).toEqual([]);
});

test("over 8,192 characters, with a valid signature", async () => {
  const token = sign({ groups: "x".repeat(6_200) });
  expect(token.length).toBeGreaterThan(8_192);
  await expectRejected(token, "unknown");
});

test("an unknown kid causes one fetch for all of its tokens, and they are rejected", async () => {
  const before = provider.fetches;
  const claims = claimsOf(provider.issuer);
  const tokens = [
    attacker.sign(claims),
    attacker.sign(claims, { kid: undefined, alg: "EdDSA" }),
    sign({}, { kid: 1 }),
    sign({}, { kid: "" }),
    sign({}, { kid: "__proto__" }),
    sign({}, { kid: `${key.kid} ` }),
    encryptionKey.sign(claims),
  ];
  await Promise.all(tokens.map((token) => expectRejected(token, "badSignature")));
  expect(provider.fetches - before).toBeLessThanOrEqual(2);
});
