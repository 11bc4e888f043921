// Sessions without HTTP: their end, their number, and those of two servers on one host.

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/console/session/sessions.ts";

const password = "four random words it is";
const passwordHash = await Bun.password.hash(password, {
  algorithm: "argon2id",
  memoryCost: 8,
  timeCost: 1,
});

const requestWith = (cookies: readonly string[]) => {
  const headers = { Cookie: cookies.map((cookie) => cookie.replace(/;.*/, "")).join("; ") };
  return new Request("http://127.0.0.1/console/api/tokens", { headers });
};

test("two servers on one host, which share a browser's cookies, have separate sessions", async () => {
  const servers = [1, 2].map(() => new Sessions({ passwordHash, now: () => 0 }));
  const cookies = await Promise.all(servers.map((server) => server.logIn(password, "127.0.0.1", false)));
  const request = requestWith(cookies);
  expect(servers.map((server) => server.isAuthenticated(request))).toEqual([true, true]);
  servers[0]?.logOut(request);
  expect(servers.map((server) => server.isAuthenticated(request))).toEqual([false, true]);
});

test("a session ends after twelve hours, and with the thousandth after it", async () => {
  let now = 0;
  const sessions = new Sessions({ passwordHash, now: () => now });
  const logIn = async (address: string) => requestWith([await sessions.logIn(password, address, false)]);
  const first = await logIn("10.0.0.1");
  now = 12 * 3_600_000 - 1;
  expect(sessions.isAuthenticated(first)).toBe(true);
  now++;
  expect(sessions.isAuthenticated(first)).toBe(false);

  const second = await logIn("10.0.0.2");
  for (let count = 0; count < 999; count++) await logIn(`10.1.${count >> 8}.${count & 255}`);
  expect(sessions.isAuthenticated(second)).toBe(true);
  await logIn("10.2.0.1");
  expect(sessions.isAuthenticated(second)).toBe(false);
});
