// A provider that is away, silent or out of its mind: known keys go on, and what nobody can tell is 50300.

import { describe, expect, test } from "bun:test";
import {
  ageOfOneSecond,
  claimsOf,
  keysUnavailable,
  notAccepted,
  ServerWithIdentity,
  until,
} from "../../integration/auth/setup.ts";
import { KeyServer } from "../../support/key-server.ts";
import { SigningKey } from "../../support/signing-key.ts";

// They wait for the server to try again, five seconds each: all at once.
describe.concurrent("a provider that is away", () => {
  test("keeps no server from starting: its tokens are 50300 until it is back, the store's own work", async () => {
    const key = new SigningKey();
    await using provider = new KeyServer(key);
    await provider.stop();
    await using identity = await ServerWithIdentity.start(provider.issuer);
    const token = key.sign(claimsOf(provider.issuer));
    const answer = await identity.create(token);
    expect(answer).toMatchObject(keysUnavailable);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect((await identity.create(await identity.server.createToken())).status).toBe(200);
    // What can be told without any key is told.
    expect(await identity.create(key.sign(claimsOf(provider.issuer), { alg: "none" }))).toMatchObject(
      notAccepted,
    );

    provider.restart();
    await identity.createUntil(200, token);
    expect(await identity.keysTrouble()).toStartWith(`${provider.issuer}/.well-known/openid-configuration: `);
    expect((await identity.server.stop()).exitCode).toBe(0);
  });

  test("known keys go on past their age, for tokens seen and unseen; others cannot be told", async () => {
    const [known, young] = [new SigningKey(), new SigningKey()];
    await using provider = new KeyServer(known);
    await using identity = await ServerWithIdentity.start(provider.issuer, ageOfOneSecond);
    const seen = known.sign(claimsOf(provider.issuer));
    expect((await identity.create(seen)).status).toBe(200);

    provider.instead = () => new Response("down for maintenance", { status: 503 });
    const before = provider.requests.length;
    await until(() => provider.requests.length >= before + 2);
    // Whoever asks, it is left alone but for the server's own tries.
    const tries = provider.requests.length;
    for (let round = 0; round < 5; round++)
      expect(await identity.create(young.sign(claimsOf(provider.issuer)))).toMatchObject(keysUnavailable);
    expect(provider.requests.length).toBeLessThanOrEqual(tries + 1);
    await provider.stop();
    expect((await identity.create(seen)).status).toBe(200);
    expect((await identity.create(known.sign(claimsOf(provider.issuer)))).status).toBe(200);
    expect(await identity.create(young.sign(claimsOf(provider.issuer)))).toMatchObject(keysUnavailable);
    expect((await identity.create(known.sign(claimsOf(provider.issuer, { exp: 1 })))).status).toBe(401);

    provider.publish(young);
    provider.instead = () => undefined;
    provider.restart();
    await identity.createUntil(200, young.sign(claimsOf(provider.issuer)));
    expect(await identity.create(seen)).toMatchObject(notAccepted);
  });

  test.each([
    ["a page in place of its keys", () => new Response("<html>")],
    ["keys that are none", () => Response.json({ keys: {} })],
    ["JSON that is null", () => Response.json(null)],
  ])("answers with %s: known keys go on", async (_, answer) => {
    const key = new SigningKey();
    await using provider = new KeyServer(key);
    await using identity = await ServerWithIdentity.start(provider.issuer, [
      ...["--jwks-url", provider.jwksUrl],
      ...ageOfOneSecond,
    ]);
    const seen = key.sign(claimsOf(provider.issuer));
    expect((await identity.create(seen)).status).toBe(200);
    provider.instead = answer;
    const before = provider.fetches;
    // The second one comes when the first has been judged.
    await until(() => provider.fetches >= before + 2);
    expect((await identity.create(seen)).status).toBe(200);
    expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  });

  test("a provider that takes requests and is silent holds up neither known keys nor the end of the server", async () => {
    const key = new SigningKey();
    await using provider = new KeyServer(key);
    await using identity = await ServerWithIdentity.start(provider.issuer);
    const token = key.sign(claimsOf(provider.issuer));
    expect((await identity.create(token)).status).toBe(200);

    const asked = provider.requests.length;
    const beginning = () =>
      new ReadableStream({ start: (body) => body.enqueue(new TextEncoder().encode("{")) });
    provider.instead = () => new Response(beginning());
    const unknown = identity.create(new SigningKey().sign(claimsOf(provider.issuer)));
    await until(() => provider.requests.length > asked);
    expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
    expect(await unknown).toMatchObject(keysUnavailable);

    // The next fetch is under way and silent again when the server is told to stop.
    const askedAgain = provider.requests.length;
    await until(() => provider.requests.length > askedAgain);
    expect((await identity.server.stop()).exitCode).toBe(0);
  });

  test("a server that is stopped while it waits for the first keys ends, and does not call that trouble", async () => {
    await using provider = new KeyServer();
    provider.instead = () => new Promise<Response>(() => undefined);
    await using identity = await ServerWithIdentity.start(provider.issuer);
    await until(() => provider.requests.length > 0);
    const { exitCode, stderr } = await identity.server.stop();
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain("the identity provider");
  });
});
