// How many verified tokens a server remembers.

import { expect, test } from "bun:test";
import { KeySet, type VerifiedToken } from "../../../src/auth/key-set.ts";

test("10,000 verified tokens are remembered; one more, and the oldest is forgotten", () => {
  const keys = new KeySet({ keys: [] });
  const token: VerifiedToken = { caller: { key: "jwt gardener", name: "gardener" }, expiresAt: 1 };
  const isRemembered = (number: number) => keys.verified(`hash ${number}`) === token;
  for (let number = 0; number < 10_000; number++) keys.remember(`hash ${number}`, token);
  expect([0, 1, 9_999].map(isRemembered)).toEqual([true, true, true]);
  keys.remember("hash 10000", token);
  expect([0, 1, 9_999, 10_000].map(isRemembered)).toEqual([false, true, true, true]);
});

test("a token that is remembered twice takes one place", () => {
  const keys = new KeySet({ keys: [] });
  const token: VerifiedToken = { caller: { key: "jwt gardener", name: "gardener" }, expiresAt: 1 };
  for (let number = 0; number < 10_000; number++) keys.remember(`hash ${number}`, token);
  keys.remember("hash 5000", token);
  expect(keys.verified("hash 0")).toBe(token);
});
