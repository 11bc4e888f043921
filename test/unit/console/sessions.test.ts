// Sessions without HTTP: two servers on one host.

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/console/session/sessions.ts";

const password = "four random words it is";
const passwordHash = await Bun.password.hash(password, {
  algorithm: "argon2id",
  memoryCost: 8,
  timeCost: 1,
});

test("two servers on one host, which share a browser's cookies, have separate sessions", async () => {
  const servers = [1, 2].map(() => new Sessions({ passwordHash, now: () => 0 }));
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
