// The limit on responses without a commit in one tick of the event loop.

import { expect, test } from "bun:test";
import { TickBudget } from "../../../../src/core/http/tick-budget.ts";

/** A budget whose ticks the test ends. */
function manualTicks() {
  const ends: (() => void)[] = [];
  const end = () => {
    for (const run of ends.splice(0)) run();
  };
  return { budget: new TickBudget((run) => ends.push(run)), ends, end };
}

test("the first hundred responses are sent at once, all others at the end of the tick", async () => {
  const { budget, end } = manualTicks();
  const waits = Array.from({ length: 250 }, () => budget.countResponse());
  expect(waits.findIndex((wait) => wait !== undefined)).toBe(100);
  const late = waits.slice(100);
  expect(late.map((wait) => Bun.peek.status(wait as Promise<void>))).not.toContain("fulfilled");
  end();
  await Promise.all(late);
});

test("each tick has its own count, and schedules its end once", () => {
  const { budget, ends, end } = manualTicks();
  for (let count = 0; count < 3; count++) {
    const waits = Array.from({ length: 101 }, () => budget.countResponse());
    expect(waits.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => undefined));
    expect(Bun.peek.status(waits[100] as Promise<void>)).toBe("pending");
    expect(ends).toHaveLength(1);
    end();
  }
});
