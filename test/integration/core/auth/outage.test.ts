// A provider that is down, hangs or sends garbage: cached keys stay valid, and a token with another
// key is 50300.

import { describe, expect, test } from "bun:test";
import { eventually } from "../../../support/eventually.ts";
import {
  claimsOf,
  KeyServer,
  keysUnavailable,
  notAccepted,
  SigningKey,
  startWithIdentity,
} from "../../../support/identity-provider.ts";

/** The server asks for the keys again soon, also after a fetch that failed. */
const intervals = { keysAgeMsMax: 200, keysIntervalMsMin: 200 };

// Most of their time is waits for fetches, so they run concurrently.
describe.concurrent("a provider that is down", () => {
  test("does not prevent a start: its tokens are 50300 until it is up, and the store's own tokens are accepted", async () => {
    const key = new SigningKey();
    await using provider = new KeyServer(key);
    await provider.stop();
    await using identity = await startWithIdentity(provider.issuer, { intervals });
    const token = key.sign(claimsOf(provider.issuer));
    const answer = await identity.create(token);
    expect(answer).toMatchObject(keysUnavailable);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect((await identity.create(await identity.createToken())).status).toBe(200);
    // Rejected without any key.
    expect(await identity.create(key.sign(claimsOf(provider.issuer), { alg: "none" }))).toMatchObject(
      notAccepted,
    );

    provider.restart();
    await identity.createUntil(200, token);
    expect(await identity.keysTrouble()).toStartWith(`${provider.issuer}: `);
  });

  test("cached keys stay valid past the interval, for verified and new tokens; tokens of other keys are 50300", async () => {
    const [known, young] = [new SigningKey(), new SigningKey()];
    await using provider = new KeyServer(known);
    await using identity = await startWithIdentity(provider.issuer, { intervals });
    const seen = known.sign(claimsOf(provider.issuer));
    expect((await identity.create(seen)).status).toBe(200);

    provider.instead = () => new Response("down for maintenance", { status: 503 });
    await identity.keysTrouble();
    // Unknown keys cause no fetch in addition to the server's own retries.
    const tries = provider.requests.length;
    const start = performance.now();
    for (let round = 0; round < 5; round++)
      expect(await identity.create(young.sign(claimsOf(provider.issuer)))).toMatchObject(keysUnavailable);
    const retries = Math.floor((performance.now() - start) / intervals.keysIntervalMsMin);
    expect(provider.requests.length).toBeLessThanOrEqual(tries + 1 + retries);
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
    ["invalid keys", () => Response.json({ keys: {} })],
    ["JSON that is null", () => Response.json(null)],
  ])("sends %s: cached keys stay valid", async (_, answer) => {
    const key = new SigningKey();
    await using provider = new KeyServer(key);
    const setup = { jwksUrl: provider.jwksUrl, intervals };
    await using identity = await startWithIdentity(provider.issuer, setup);
    const seen = key.sign(claimsOf(provider.issuer));
    expect((await identity.create(seen)).status).toBe(200);
    provider.instead = answer;
    await identity.keysTrouble();
    expect((await identity.create(seen)).status).toBe(200);
    expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
  });

  test("a provider that hangs delays neither cached keys nor the server's stop", async () => {
    const key = new SigningKey();
    await using provider = new KeyServer(key);
    await using identity = await startWithIdentity(provider.issuer, {
      intervals: { ...intervals, keysAgeMsMax: 600_000 },
    });
    const token = key.sign(claimsOf(provider.issuer));
    expect((await identity.create(token)).status).toBe(200);

    const asked = provider.requests.length;
    const beginning = () =>
      new ReadableStream({ start: (body) => body.enqueue(new TextEncoder().encode("{")) });
    provider.instead = () => new Response(beginning());
    const unknown = identity.create(new SigningKey().sign(claimsOf(provider.issuer)));
    await eventually("a further request of the keys", () => provider.requests.length > asked);
    expect((await identity.create(key.sign(claimsOf(provider.issuer)))).status).toBe(200);
    expect(await unknown).toMatchObject(keysUnavailable);

    // The next fetch hangs as well when the server is stopped.
    const askedAgain = provider.requests.length;
    await eventually("a further request of the keys", () => provider.requests.length > askedAgain);
  });

  test("a server that is stopped during its first fetch ends, and reports no error", async () => {
    await using provider = new KeyServer();
    provider.instead = () => new Promise<Response>(() => undefined);
    const identity = await startWithIdentity(provider.issuer);
    await eventually("a request of the keys", () => provider.requests.length > 0);
    await identity[Symbol.asyncDispose]();
    expect(identity.events.filter(({ kind }) => kind === "jwksRefreshFailed")).toEqual([]);
  });
});
