// How the Authorization field is read (RFC 9110, section 11.4, and RFC 6750, section 2.1).

import { afterAll, expect, test } from "bun:test";
import { Authenticator } from "../../../src/auth/authenticator.ts";
import { TokenCache, unknownToken } from "../../../src/auth/token-cache.ts";
import { ApiError } from "../../../src/base/errors.ts";
import { bearerAccess } from "../../../src/contract/access.ts";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";
import { plantStore } from "../../support/contracts.ts";
import { addToken } from "../../support/server.ts";
import { unexpected } from "../../support/stored-plants.ts";

const store = new MemoryStore(plantStore, unexpected);
const token = await addToken(store.tokens, "ci");
const tokens = new TokenCache(store.tokens, Date.now, () => undefined);
await tokens.start();
afterAll(() => tokens.stop());
const authenticator = new Authenticator(tokens, undefined);

test.each([
  [`Bearer ${token}`, "ci"],
  [`bEARER   ${token}`, "ci"],
  ["", "missingToken"],
  [token, "missingToken"],
  [`Bearer${token}`, "missingToken"],
  [`Bearer\t${token}`, "missingToken"],
  [`Basic ${token}`, "missingToken"],
  [`x Bearer ${token}`, "missingToken"],
  ["Bearer", "invalidToken"],
  [`Bearer ${token}=`, "invalidToken"],
  [`Bearer ${token.slice(0, -1)}`, "invalidToken"],
  [`Bearer ${token}, Bearer ${token}`, "invalidToken"],
  [`Bearer ${token}\xa0`, "invalidToken"],
  [`Bearer ${token} x`, "invalidToken"],
  ["Bearer a.b.c", "invalidToken"],
])("%p is %s", async (authorization, expected) => {
  const result = await authenticator.authenticate(
    new Headers({ Authorization: authorization }),
    bearerAccess,
  );
  expect(result instanceof ApiError ? result.code : result.name).toBe(expected);
});

test("where a token is optional, credentials of another scheme are none", () => {
  const access = { ...bearerAccess, isOpen: true };
  const callerOf = (authorization: string) =>
    authenticator.authenticate(new Headers({ Authorization: authorization }), access);
  expect(callerOf("Basic dXNlcjpwYXNz")).not.toBeInstanceOf(ApiError);
  expect(callerOf("Bearer")).toBeInstanceOf(ApiError);
});

test("what cannot be a token is rejected without a look into the store", () => {
  for (const text of ["é", "a b", "=", "a=b"])
    expect(authenticator.authenticate(new Headers({ Authorization: `Bearer ${text}` }), bearerAccess)).toBe(
      unknownToken,
    );
});

test("the token of 1,024 credentials is remembered, and the oldest are forgotten for others", async () => {
  const cache = new TokenCache(store.tokens, Date.now, () => undefined);
  await cache.start();
  for (let spaces = 0; spaces <= 1_024; spaces++)
    await cache.callerByToken(token, `Bearer ${" ".repeat(spaces)}${token}`);
  const isRemembered = (spaces: number) =>
    cache.callerByCredentials(`Bearer ${" ".repeat(spaces)}${token}`) !== undefined;
  expect([0, 1, 1_024].map(isRemembered)).toEqual([false, true, true]);
  await cache.stop();
});
