// Sessions by themselves: guesses from many addresses, and servers side by side.

import { expect, test } from "bun:test";
import { Sessions } from "../../src/admin/console/sessions.ts";
import { randomBytes } from "../../src/tokens/token.ts";

test("many addresses that guess at once are refused, and do not queue up before who knows the password", async () => {
  const passwordHash = await Bun.password.hash("four random words it is", {
    algorithm: "argon2id",
    memoryCost: 8,
    timeCost: 1,
  });
  const sessions = new Sessions({ passwordHash, now: () => 0, randomBytes });
  const guesses = Array.from({ length: 500 }, (_, index) =>
    sessions.logIn("wrong", `2001:db8::${index.toString(16)}`, false),
  );
  const outcomes = await Promise.all(guesses);
  expect(outcomes.filter((outcome) => outcome === "wrong").length).toBe(10);
  expect(outcomes.filter((outcome) => outcome === "tooMany").length).toBe(490);
  // Nobody who was refused like that has used up an attempt.
  expect(await sessions.logIn("four random words it is", "2001:db8::1f3", false)).toHaveProperty("cookie");
});

test("two servers on one host, whose cookies a browser keeps in one place, are used side by side", async () => {
  const password = "four random words it is";
  const passwordHash = await Bun.password.hash(password, {
    algorithm: "argon2id",
    memoryCost: 8,
    timeCost: 1,
  });
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
