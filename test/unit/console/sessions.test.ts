// Sessions without HTTP: guesses from many addresses, and two servers on one host.

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/console/sessions.ts";
import { randomBytes } from "../../../src/core/auth/token.ts";
import { nextTurn } from "../../support/eventually.ts";

const password = "four random words it is";
const passwordHash = await Bun.password.hash(password, {
  algorithm: "argon2id",
  memoryCost: 8,
  timeCost: 1,
});

test("clients at many addresses that guess without a pause do not block the right password", async () => {
  const sessions = new Sessions({ passwordHash, now: () => 0, randomBytes });
  const attackers = Array.from({ length: 24 }, (_, index) => `198.51.${index}.7`);
  const outcomes: unknown[] = [];
  let isOver = false;
  // Each repeats its attempt after the response. Rejected attempts return without a check.
  const guessing = attackers.map(async (address) => {
    while (!isOver) {
      const outcome = await sessions.logIn("wrong", address, false).catch(({ status }) => status);
      outcomes.push(outcome);
      if (outcome === 429) await nextTurn();
    }
  });
  for (const address of ["203.0.113.5", "2001:db8::1", "198.51.3.8"])
    expect(await sessions.logIn(password, address, false)).toContain("HttpOnly");
  isOver = true;
  await Promise.all(guessing);
  expect(outcomes).toContain(403);
});

test("two servers on one host, which share a browser's cookies, have separate sessions", async () => {
  const servers = [1, 2].map(() => new Sessions({ passwordHash, now: () => 0, randomBytes }));
  const cookies = new Map<string, string>();
  for (const server of servers) {
    const cookie = await server.logIn(password, "127.0.0.1", false);
    const [, name = "", value = ""] = /^([^=]+)=([^;]+)/.exec(cookie) ?? [];
    cookies.set(name, value);
  }
  const headers = { Cookie: Array.from(cookies, (cookie) => cookie.join("=")).join("; ") };
  const request = new Request("http://127.0.0.1/console/api/tokens", { headers });
  expect(servers.map((server) => server.isAuthenticated(request))).toEqual([true, true]);
  servers[0]?.logOut(request);
  expect(servers.map((server) => server.isAuthenticated(request))).toEqual([false, true]);
});
