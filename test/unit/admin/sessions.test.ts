// Sessions by themselves: guesses from many addresses, and servers side by side.

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/admin/console/sessions.ts";
import { randomBytes } from "../../../src/auth/token.ts";

const password = "four random words it is";
const passwordHash = await Bun.password.hash(password, {
  algorithm: "argon2id",
  memoryCost: 8,
  timeCost: 1,
});

test("strangers at many addresses that guess without a pause do not keep the right password out", async () => {
  const sessions = new Sessions({ passwordHash, now: () => 0, randomBytes });
  const strangers = Array.from({ length: 24 }, (_, index) => `198.51.${index}.7`);
  const outcomes: string[] = [];
  let isOver = false;
  // Each asks again as soon as it is answered; the refused ones need no check for that.
  const guessing = strangers.map(async (address) => {
    while (!isOver) {
      const outcome = await sessions.logIn("wrong", address, false);
      outcomes.push(String(outcome));
      if (outcome === "tooMany") await Bun.sleep(1);
    }
  });
  for (const address of ["203.0.113.5", "2001:db8::1", "198.51.3.8"])
    expect(await sessions.logIn(password, address, false)).toHaveProperty("cookie");
  isOver = true;
  await Promise.all(guessing);
  expect(outcomes).toContain("wrong");
});

test("two servers on one host, whose cookies a browser keeps in one place, are used side by side", async () => {
  const servers = [1, 2].map(() => new Sessions({ passwordHash, now: () => 0, randomBytes }));
  const kept = new Map<string, string>();
  for (const server of servers) {
    const begun = await server.logIn(password, "127.0.0.1", false);
    if (typeof begun === "string") throw new Error(begun);
    const [, name = "", value = ""] = /^([^=]+)=([^;]+)/.exec(begun.cookie) ?? [];
    kept.set(name, value);
  }
  const headers = { Cookie: Array.from(kept, (cookie) => cookie.join("=")).join("; ") };
  const request = new Request("http://127.0.0.1/console/api/tokens", { headers });
  expect(servers.map((server) => server.admit(request))).toEqual([true, true]);
  servers[0]?.logOut(request);
  expect(servers.map((server) => server.admit(request))).toEqual([false, true]);
});
