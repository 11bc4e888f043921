// The provider's keys over time: new keys, removed keys, a provider that is down, hangs or sends
// garbage, and callers that would overload it.

import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { eventually } from "../../support/eventually.ts";
import {
  claimsOf,
  KeyServer,
  keysUnavailable,
  notAccepted,
  nowSeconds,
  SigningKey,
  startWithIdentity,
} from "../../support/identity-provider.ts";

/** The server asks for the keys again soon, also after a fetch that failed. */
const often = { keysAgeMsMax: 100, keysIntervalMsMin: 50 };

test("a new key is accepted at once, and a removed one with its verified tokens is rejected after the next fetch", async () => {
  const [old, young] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(old);
  const intervals = { keysAgeMsMax: 600_000, keysIntervalMsMin: 100 };
  await using identity = await startWithIdentity(provider.issuer, { intervals });
  const oldToken = old.sign(claimsOf(provider.issuer));
  expect((await identity.create(oldToken)).status).toBe(200);
  const before = provider.fetches;

  provider.publish(young);
  expect((await identity.create(oldToken)).status).toBe(200);
  expect((await identity.create(young.sign(claimsOf(provider.issuer)))).status).toBe(200);
  expect(provider.fetches).toBe(before + 1);
  expect(await identity.create(oldToken)).toMatchObject(notAccepted);
});

test("a removed key is rejected after the interval between fetches, without any unknown key", async () => {
  const [old, young] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(old, young);
  await using identity = await startWithIdentity(provider.issuer, { intervals: often });
  const [oldToken = "", youngToken = ""] = [old, young].map((key) => key.sign(claimsOf(provider.issuer)));
  expect((await identity.create(oldToken)).status).toBe(200);
  provider.publish(young);
  await identity.createUntil(401, oldToken);
  expect((await identity.create(youngToken)).status).toBe(200);
});

test("a verified token is rejected exactly from its exp on, and so is a new one", async () => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  const exp = nowSeconds() + 5;
  let now = Date.now();
  await using identity = await startWithIdentity(provider.issuer, { now: () => now });
  const token = key.sign(claimsOf(provider.issuer, { exp }));
  for (const acceptedAt of [now, exp * 1_000 - 1]) {
    now = acceptedAt;
    expect((await identity.create(token)).status).toBe(200);
  }
  now = exp * 1_000;
  for (const expired of [token, key.sign(claimsOf(provider.issuer, { exp, jti: "other" }))])
    expect(await identity.create(expired)).toMatchObject(notAccepted);
});

test("a plant is stored with the subject that created it, and not without one while the store cannot look it up", async () => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  await using identity = await startWithIdentity(provider.issuer);
  const token = (sub: string, jti: string) => key.sign(claimsOf(provider.issuer, { sub, jti }));
  const tokens = [token("gardener", "1"), token("botanist", "2"), token("gardener", "3")];
  for (const each of [...tokens, ...tokens]) expect((await identity.create(each)).status).toBe(200);
  using sql = new Database(identity.database.slice("sqlite:".length));
  const creators = sql.query(
    "SELECT creators.name, count(*) FROM plants JOIN creators ON creators.id = creator GROUP BY 1",
  );
  expect(creators.values()).toEqual([
    [`botanist (${provider.issuer})`, 2],
    [`gardener (${provider.issuer})`, 4],
  ]);
  sql.run("ALTER TABLE creators RENAME TO hidden");
  const create = () => identity.create(token("visitor", "4"));
  expect(await create()).toMatchObject({ status: 503, json: { error: 50300 } });
  // The credentials are judged first: another key has signed this one.
  const forged = new SigningKey().sign(claimsOf(provider.issuer, { sub: "visitor" }));
  expect(await identity.create(forged)).toMatchObject({ status: 401, json: { error: 40101 } });
  sql.run("ALTER TABLE hidden RENAME TO creators");
  expect((await create()).status).toBe(200);
});

test("a subject and a token of one name are different creators", async () => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  await using identity = await startWithIdentity(provider.issuer);
  expect((await identity.create(key.sign(claimsOf(provider.issuer, { sub: "ci" })))).status).toBe(200);
  expect((await identity.create(await identity.createToken("ci"))).status).toBe(200);
  using sql = new Database(identity.database.slice("sqlite:".length));
  expect(sql.query("SELECT count(DISTINCT creator) FROM plants").values()).toEqual([[2]]);
});

test("each key that fits is tried, for a kid that the set has twice and for a token without a kid", async () => {
  const [key, other] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(key, other);
  const twin = { ...other.jwk, kid: key.kid };
  provider.keys = [twin, key.jwk, key.jwk];
  await using identity = await startWithIdentity(provider.issuer);
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  expect((await identity.create(other.sign(claimsOf(provider.issuer), { kid: key.kid }))).status).toBe(200);
  const stranger = new SigningKey().sign(claimsOf(provider.issuer), { kid: key.kid });
  expect(await identity.create(stranger)).toMatchObject(notAccepted);

  const many = Array.from({ length: 9 }, () => new SigningKey());
  provider.publish(...many);
  for (const each of many)
    for (const kid of [each.kid, undefined])
      expect((await identity.create(each.sign(claimsOf(provider.issuer), { kid }))).status).toBe(200);
  const nobodys = new SigningKey().sign(claimsOf(provider.issuer), { kid: undefined });
  expect(await identity.create(nobodys)).toMatchObject(notAccepted);
});

test("tokens of an unknown key that arrive together cause one fetch, and the next ones none within the interval", async () => {
  const [key, young] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(key);
  const intervals = { keysAgeMsMax: 600_000, keysIntervalMsMin: 600_000 };
  await using identity = await startWithIdentity(provider.issuer, { intervals });
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  const before = provider.fetches;
  provider.publish(key, young);
  const tokens = Array.from({ length: 40 }, (_, jti) => young.sign(claimsOf(provider.issuer, { jti })));
  for (const answer of await Promise.all(tokens.map(identity.create))) expect(answer.status).toBe(200);
  // Nobody has asked the provider for these: one of them may be new.
  for (let count = 0; count < 10; count++)
    expect(await identity.create(new SigningKey().sign(claimsOf(provider.issuer)))).toMatchObject({
      status: 503,
      json: { error: 50300 },
    });
  expect(provider.fetches).toBe(before + 1);
});

test("made-up keys do not get a genuine token of a new key rejected", async () => {
  const [key, young] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(key);
  const intervals = { keysAgeMsMax: 600_000, keysIntervalMsMin: 600_000 };
  await using identity = await startWithIdentity(provider.issuer, { intervals });
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  const made = new SigningKey().sign(claimsOf(provider.issuer));
  // The provider has said no.
  for (const token of [made, made]) expect(await identity.create(token)).toMatchObject(notAccepted);
  provider.publish(key, young);
  const genuine = young.sign(claimsOf(provider.issuer));
  const { status, headers } = await identity.create(genuine);
  expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
  const { now } = performance;
  using _ = spyOn(performance, "now").mockImplementation(() => now.call(performance) + 600_000);
  await identity.create(new SigningKey().sign(claimsOf(provider.issuer)));
  expect((await identity.create(genuine)).status).toBe(200);
});

test("an RSA key that is too short does not disable the others, for a kid that both have and without one", async () => {
  const key = new SigningKey();
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 1_024 });
  const { publicKey: longKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const [short, long] = [publicKey, longKey].map((each) => ({
    ...each.export({ format: "jwk" }),
    kid: "rsa",
  }));
  await using provider = new KeyServer(key);
  provider.keys = [short, long, key.jwk] as typeof provider.keys;
  await using identity = await startWithIdentity(provider.issuer);
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  for (const kid of ["rsa", undefined]) {
    const header = { alg: "RS256", ...(kid === undefined ? {} : { kid }) };
    const token = new SignJWT(claimsOf(provider.issuer)).setProtectedHeader(header).sign(privateKey);
    expect((await identity.create(await token)).status).toBe(200);
  }
});

test.each([
  ["plain", {}],
  ["compressed", { "Content-Encoding": "gzip" }],
])("a key set of more than a megabyte, %s, is not read", async (_, headers) => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  const text = `{"keys":[]${" ".repeat(2_000_000)}}`;
  const body = "Content-Encoding" in headers ? Bun.gzipSync(text) : text;
  provider.instead = (path) => (path === "/keys" ? new Response(body, { headers }) : undefined);
  await using identity = await startWithIdentity(provider.issuer);
  expect(await identity.keysTrouble()).toContain("answered with more than 1048576 bytes");
  expect(await identity.create(key.sign(claimsOf(provider.issuer)))).toMatchObject(keysUnavailable);
});

test("a provider that is down at the start: its tokens are 50300 until it is up, and the store's own are accepted", async () => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  await provider.stop();
  await using identity = await startWithIdentity(provider.issuer, { intervals: often });
  const token = key.sign(claimsOf(provider.issuer));
  const answer = await identity.create(token);
  expect(answer).toMatchObject(keysUnavailable);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect((await identity.create(await identity.createToken())).status).toBe(200);
  // Rejected without any key.
  const unsigned = key.sign(claimsOf(provider.issuer), { alg: "none" });
  expect(await identity.create(unsigned)).toMatchObject(notAccepted);

  provider.restart();
  await identity.createUntil(200, token);
  expect(await identity.keysTrouble()).toStartWith(`${provider.issuer}: `);
});

test.each<[name: string, answer: () => Response | Promise<Response>]>([
  ["is down for maintenance", () => new Response("", { status: 503 })],
  ["sends a page in place of its keys", () => new Response("<html>")],
  ["sends JSON that is null", () => Response.json(null)],
])("a provider that %s: cached keys stay valid, and tokens of other keys are 50300", async (_, answer) => {
  const [known, young] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(known);
  const setup = { jwksUrl: provider.jwksUrl, intervals: often };
  await using identity = await startWithIdentity(provider.issuer, setup);
  const seen = known.sign(claimsOf(provider.issuer));
  expect((await identity.create(seen)).status).toBe(200);
  provider.instead = answer;
  await identity.keysTrouble();
  for (const token of [seen, known.sign(claimsOf(provider.issuer))])
    expect((await identity.create(token)).status).toBe(200);
  expect(await identity.create(young.sign(claimsOf(provider.issuer)))).toMatchObject(keysUnavailable);
  expect((await identity.create(known.sign(claimsOf(provider.issuer, { exp: 1 })))).status).toBe(401);

  provider.publish(young);
  provider.instead = () => undefined;
  await identity.createUntil(200, young.sign(claimsOf(provider.issuer)));
  expect(await identity.create(seen)).toMatchObject(notAccepted);
});

test("a provider that hangs delays neither cached keys nor the server's stop, which is no error", async () => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  const identity = await startWithIdentity(provider.issuer, { intervals: often });
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  provider.instead = () => new Promise<Response>(() => undefined);
  const asked = provider.requests.length;
  await eventually("a further request of the keys", () => provider.requests.length > asked);
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  await identity[Symbol.asyncDispose]();
  expect(identity.events.filter(({ kind }) => kind === "jwksRefreshFailed")).toEqual([]);
});

test("200 new tokens at once are all accepted, and keys in another order, or with one more, verify none again", async () => {
  const [key, other, young] = [new SigningKey(), new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(key, other);
  await using identity = await startWithIdentity(provider.issuer, { intervals: often });
  const tokens = Array.from({ length: 200 }, (_, sub) =>
    key.sign(claimsOf(provider.issuer, { sub: `${sub}` })),
  );
  await identity.createUntil(200, key.sign(claimsOf(provider.issuer)));
  const statuses = async () =>
    new Set(await Promise.all(tokens.map(async (each) => (await identity.create(each)).status)));
  expect(await statuses()).toEqual(new Set([200]));
  using verified = spyOn(crypto.subtle, "verify");
  for (const keys of [
    [other, key],
    [young, other, key],
  ]) {
    provider.publish(...keys);
    const before = provider.fetches;
    await eventually("two further fetches", () => provider.fetches > before + 1);
    expect(await statuses()).toEqual(new Set([200]));
  }
  expect(verified).not.toHaveBeenCalled();
});

test("while the provider hangs 64 tokens of unknown keys wait, and others are unavailable; known keys accept new callers", async () => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  await using identity = await startWithIdentity(provider.issuer, { jwksUrl: provider.jwksUrl });
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  const asked = provider.requests.length;
  const gate = Promise.withResolvers<Response>();
  provider.instead = () => gate.promise;
  const forged = key.sign(claimsOf(provider.issuer), { kid: "made up" });
  const statuses: number[] = [];
  const creates = Array.from({ length: 70 }, async () => {
    statuses.push((await identity.create(forged)).status);
  });
  await eventually("a request of the keys", () => provider.requests.length > asked);
  await eventually("six responses", () => statuses.length === 6);
  const newCaller = await identity.create(key.sign(claimsOf(provider.issuer, { sub: "new" })));
  gate.resolve(Response.json({ keys: provider.keys }));
  await Promise.all(creates);
  expect(newCaller.status).toBe(200);
  expect(statuses).toEqual([...Array(6).fill(503), ...Array(64).fill(401)]);
});
