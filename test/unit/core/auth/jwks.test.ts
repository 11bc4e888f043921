// The cache of verified JWTs.

import { expect, test } from "bun:test";
import { KeySet, type VerifiedToken } from "../../../../src/core/auth/jwks.ts";

test("10,000 verified tokens are cached; one more evicts the oldest", () => {
  const keys = new KeySet({ keys: [] });
  const token: VerifiedToken = {
    caller: { key: "jwt gardener", name: "gardener", creator: 1 },
    expiresAt: 1,
  };
  const isCached = (number: number) => keys.getVerified(`hash ${number}`) === token;
  for (let number = 0; number < 10_000; number++) keys.addVerified(`hash ${number}`, token);
  expect([0, 1, 9_999].map(isCached)).toEqual([true, true, true]);
  keys.addVerified("hash 10000", token);
  expect([0, 1, 9_999, 10_000].map(isCached)).toEqual([false, true, true, true]);
});
