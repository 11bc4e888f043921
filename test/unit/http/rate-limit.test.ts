// The rate limit: windows by a clock that the test sets, their fields, and the limit on their
// number.

import { expect, test } from "bun:test";
import { RateLimit } from "../../../src/http/rate-limit.ts";

function limited(limits: ConstructorParameters<typeof RateLimit>[0]) {
  const clock = { ms: 1_234.567 };
  const rateLimit = new RateLimit(limits, () => clock.ms);
  const consume = (key: string) => {
    const { field, error } = rateLimit.consume({ key });
    return { retryAfter: error?.details.retryAfterSeconds, field };
  };
  return { clock, rateLimit, consume };
}

test("a window is as long as the rate needs for the burst, and starts with a caller's first create", () => {
  const { clock, rateLimit, consume } = limited({ requestsPerSecond: 2, burst: 3 });
  expect(rateLimit.consume({ key: "other" }).policy).toBe('"token";q=3;w=2');
  expect(consume("a")).toEqual({ retryAfter: undefined, field: '"token";r=2;t=2' });
  clock.ms += 600;
  expect(consume("a")).toEqual({ retryAfter: undefined, field: '"token";r=1;t=1' });
  expect(consume("a")).toEqual({ retryAfter: undefined, field: '"token";r=0;t=1' });
  expect(consume("a")).toEqual({ retryAfter: 1, field: '"token";r=0;t=1' });
  expect(consume("b")).toEqual({ retryAfter: undefined, field: '"token";r=2;t=2' });
  clock.ms += 899;
  expect(consume("a").retryAfter).toBe(1);
  clock.ms += 1;
  expect(consume("a")).toEqual({ retryAfter: undefined, field: '"token";r=2;t=2' });
});

test("an import counts each of its plants", () => {
  const { rateLimit, consume } = limited({ requestsPerSecond: 1, burst: 5 });
  expect(rateLimit.consume({ key: "a" }, 4).field).toBe('"token";r=1;t=5');
  expect(rateLimit.consume({ key: "a" }, 2).error).toBeDefined();
  expect(consume("a").retryAfter).toBe(5);
});

test("the number of windows is limited: past 100,000 callers all are counted anew", () => {
  const { consume } = limited({ requestsPerSecond: 1, burst: 1 });
  for (let caller = 0; caller < 100_000; caller++)
    expect(consume(`caller ${caller}`).retryAfter).toBeUndefined();
  expect(consume("caller 0").retryAfter).toBe(1);
  expect(consume("another").retryAfter).toBeUndefined();
  expect(consume("caller 0").retryAfter).toBeUndefined();
  expect(consume("another").retryAfter).toBe(1);
});
