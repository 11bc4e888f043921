// The provider's keys over time: new keys, removed keys, and callers that would overload the
// provider.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { eventually } from "../../../support/eventually.ts";
import {
  claimsOf,
  KeyServer,
  notAccepted,
  nowSeconds,
  SigningKey,
  startWithIdentity,
} from "../../../support/identity-provider.ts";
import { runCommand } from "../../../support/server.ts";

test("a new key is accepted at once, and a removed one with its verified tokens is rejected after the next fetch", async () => {
  const [old, young] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(old);
  await using identity = await startWithIdentity(provider.issuer, {
    intervals: { keysAgeMsMax: 600_000, keysIntervalMsMin: 100 },
  });
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
  await using identity = await startWithIdentity(provider.issuer, {
    intervals: { keysAgeMsMax: 100, keysIntervalMsMin: 50 },
  });
  const [oldToken, youngToken] = [old, young].map((key) => key.sign(claimsOf(provider.issuer)));
  expect((await identity.create(oldToken ?? "")).status).toBe(200);
  provider.publish(young);
  const before = provider.fetches;
  await eventually("a further fetch of the keys", () => provider.fetches > before);
  // The server has the keys, or is about to.
  await identity.createUntil(401, oldToken ?? "");
  expect((await identity.create(youngToken ?? "")).status).toBe(200);

  provider.publish();
  await identity.createUntil(401, youngToken ?? "");
});

test("a verified token is rejected exactly from its exp on", async () => {
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
  const expired = {
    error: 40101,
    message: "The bearer token is not accepted: it has expired. Get a new one from the identity provider.",
  };
  expect(await identity.create(token)).toMatchObject({ status: 401, json: expired });
  // Nor is one that was not verified before.
  const other = key.sign(claimsOf(provider.issuer, { exp, jti: "other" }));
  expect(await identity.create(other)).toMatchObject({ status: 401, json: expired });
});

test("a plant is stored with the subject that created it, whichever of its tokens it used", async () => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  await using identity = await startWithIdentity(provider.issuer);
  const token = (sub: string, jti: string) => key.sign(claimsOf(provider.issuer, { sub, jti }));
  const tokens = [token("gardener", "1"), token("botanist", "2"), token("gardener", "3")];
  for (const each of [...tokens, ...tokens]) expect((await identity.create(each)).status).toBe(200);
  const { database } = identity;
  const { stdout } = await runCommand(["export", "--with-creation", "--database", database]);
  const creators = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).token);
  expect(creators.toSorted()).toEqual([
    "botanist",
    "botanist",
    "gardener",
    "gardener",
    "gardener",
    "gardener",
  ]);
});

test("tokens that arrive while their key is being fetched wait for that fetch, and for no other", async () => {
  const [old, young] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(old);
  const intervals = { keysAgeMsMax: 600_000, keysIntervalMsMin: 600_000 };
  await using identity = await startWithIdentity(provider.issuer, { jwksUrl: provider.jwksUrl, intervals });
  expect((await identity.create(old.sign(claimsOf(provider.issuer)))).status).toBe(200);
  provider.publish(young);
  const [asked, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  provider.instead = () => {
    asked.resolve();
    return mayAnswer.promise.then(() => Response.json(provider.jwks));
  };
  const before = provider.fetches;
  const create = (jti: string) => identity.create(young.sign(claimsOf(provider.issuer, { jti })));
  const first = create("first");
  await asked.promise;
  const second = create("second");
  await Bun.sleep(50);
  mayAnswer.resolve();
  expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual([200, 200]);
  expect(provider.fetches).toBe(before + 1);
});

test("no plant is stored without its subject while the store cannot look it up", async () => {
  const key = new SigningKey();
  await using provider = new KeyServer(key);
  await using identity = await startWithIdentity(provider.issuer);
  const token = key.sign(claimsOf(provider.issuer));
  using sql = new Database(identity.database.slice("sqlite:".length));
  sql.run("ALTER TABLE creators RENAME TO hidden");
  expect(await identity.create(token)).toMatchObject({ status: 503, json: { error: 50300 } });
  expect(identity.events).toContainEqual({
    kind: "storeUnavailable",
    reason: expect.stringContaining("creators"),
  });
  sql.run("ALTER TABLE hidden RENAME TO creators");
  expect((await identity.create(token)).status).toBe(200);
  expect(
    sql.query("SELECT creators.name FROM plants JOIN creators ON creators.id = creator").values(),
  ).toEqual([["gardener"]]);
});

test("an unusable key does not make the others invalid", async () => {
  const key = new SigningKey();
  const broken = new SigningKey("ES256", "broken");
  await using provider = new KeyServer(key);
  provider.jwks = { keys: [{ ...broken.jwk, x: "AA" }, { kty: "unheard of", kid: "x" }, {}, key.jwk] };
  await using identity = await startWithIdentity(provider.issuer);
  expect(await identity.create(broken.sign(claimsOf(provider.issuer)))).toMatchObject(notAccepted);
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
});

test("many tokens with unknown keys cause one fetch in an interval, and are rejected", async () => {
  const [key, young] = [new SigningKey(), new SigningKey()];
  await using provider = new KeyServer(key);
  await using identity = await startWithIdentity(provider.issuer, {
    intervals: { keysAgeMsMax: 600_000, keysIntervalMsMin: 300 },
  });
  expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  const before = provider.fetches;
  const attack = Array.from({ length: 40 }, () =>
    identity.create(new SigningKey().sign(claimsOf(provider.issuer))),
  );
  for (const answer of await Promise.all(attack)) expect(answer).toMatchObject(notAccepted);
  expect(provider.fetches - before).toBeLessThanOrEqual(2);
  provider.publish(key, young);
  await identity.createUntil(200, young.sign(claimsOf(provider.issuer)));
});
