// Answers that need no commit, in one turn of the event loop.

import { expect, test } from "bun:test";
import { TickBudget } from "../../../src/api/tick-budget.ts";

/** A turn whose ends the test gives. */
function turnByHand() {
  const ends: (() => void)[] = [];
  const end = () => {
    for (const run of ends.splice(0)) run();
  };
  return { turn: new TickBudget((run) => ends.push(run)), ends, end };
}

test("the first hundred are answered at once, and all others at the end of the turn", async () => {
  const { turn, end } = turnByHand();
  const waits = Array.from({ length: 250 }, () => turn.answer());
  expect(waits.findIndex((wait) => wait !== undefined)).toBe(100);
  const late = waits.slice(100);
  expect(late.map((wait) => Bun.peek.status(wait as Promise<void>))).not.toContain("fulfilled");
  end();
  await Promise.all(late);
});

test("each turn counts anew, and asks once for its end", () => {
  const { turn, ends, end } = turnByHand();
  for (let count = 0; count < 3; count++) {
    const waits = Array.from({ length: 101 }, () => turn.answer());
    expect(waits.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => undefined));
    expect(Bun.peek.status(waits[100] as Promise<void>)).toBe("pending");
    expect(ends).toHaveLength(1);
    end();
  }
});
