// Shares of a bounded resource: what a caller may hold alone, and beside others.

import { expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { SharedBudget } from "../../../src/store/fair-share.ts";

test("alone a caller may hold seven eighths, and the next one as much of what is left", () => {
  const budget = new SharedBudget(() => 8_000);
  while (budget.acquire("one", 1));
  expect(budget.used).toBe(7_000);
  while (budget.acquire("two", 1));
  expect(budget.used).toBe(7_875);
});

test("callers that give back and ask again come to equal shares, and something stays free", () => {
  const budget = new SharedBudget(() => 15_000);
  const held = { one: 0, two: 0 };
  for (let round = 0; round < 100; round++) {
    for (const caller of ["one", "two"] as const) {
      budget.release(caller, Math.min(held[caller], 500));
      held[caller] -= Math.min(held[caller], 500);
      while (budget.acquire(caller, 10)) held[caller] += 10;
    }
  }
  expect(held.one).toBeWithin(6_900, 7_100);
  expect(held.two).toBeWithin(6_900, 7_100);
  expect(budget.used).toBeLessThan(14_100);
});

test("a caller's only body may take all that there is, a second one its share", () => {
  const budget = new SharedBudget(() => 1_000);
  expect(budget.acquire("one", 400)).toBe(true);
  expect(budget.acquire("one", 500)).toBe(false);
  budget.release("one", 400);
  expect(budget.acquire("one", 1_000)).toBe(true);
  expect(budget.acquire("two", 1)).toBe(false);
  expect(budget.acquire("two", 0)).toBe(true);
});

test("of thousands of callers each is counted as long as it holds something, and then forgotten", () => {
  using set = spyOn(Map.prototype, "set");
  const budget = new SharedBudget(() => 30_000);
  const callers = Array.from({ length: 3_000 }, (_, index) => `caller ${index}`);
  for (const caller of [...callers, ...callers]) expect(budget.acquire(caller, 2)).toBe(true);
  for (const caller of callers) budget.release(caller, 2);
  expect(budget.used).toBe(6_000);
  for (const caller of callers) budget.release(caller, 2);
  expect(budget.used).toBe(0);
  const [held] = set.mock.contexts as Map<string, unknown>[];
  expect(held?.size).toBe(1_024);
});

test("a caller cannot give back more than it holds", () => {
  const budget = new SharedBudget(() => 1_000);
  budget.acquire("one", 10);
  expect(() => budget.release("two", 1)).toThrow(RangeError);
  expect(() => budget.release("one", 11)).toThrow(RangeError);
  expect(budget.used).toBe(10);
});

test("whatever is acquired and released, the sum is right, and never over the bound", () => {
  const step = fc.record({
    caller: fc.constantFrom("a", "b", "c"),
    amount: fc.nat(60),
    acquires: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new SharedBudget(() => 100);
      const held: Record<string, number[]> = { a: [], b: [], c: [] };
      for (const { caller, amount, acquires } of steps) {
        const own = held[caller] ?? [];
        if (acquires && budget.acquire(caller, amount)) own.push(amount);
        const last = acquires ? undefined : own.pop();
        if (last !== undefined) budget.release(caller, last);
        const sum = Object.values(held)
          .flat()
          .reduce((one, other) => one + other, 0);
        expect(budget.used).toBe(sum);
        expect(sum).toBeLessThanOrEqual(100);
      }
    }),
  );
});
