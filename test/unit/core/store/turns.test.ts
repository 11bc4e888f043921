// Callers take turns, and a call that waits too long does not run.

import { expect, test } from "bun:test";
import { Turns, TurnTimeout } from "../../../../src/core/store/turns.ts";
import { settled } from "../../../support/settled.ts";

test("one caller's thousand calls delay another's by one", async () => {
  const turns = new Turns(60_000);
  const order: string[] = [];
  const call = (caller: string) =>
    turns.run(caller, async () => {
      await Promise.resolve();
      order.push(caller);
    });
  const many = Array.from({ length: 1_000 }, () => call("busy"));
  await call("other");
  expect(order.indexOf("other")).toBeLessThanOrEqual(2);
  await Promise.all(many);
  expect(order.length).toBe(1_001);
});

test("calls run one at a time, in the order of their caller, also after one that fails", async () => {
  const turns = new Turns(60_000);
  let running = 0;
  const results = await Promise.allSettled(
    [1, 2, 3].map((number) =>
      turns.run("a", async () => {
        expect(++running).toBe(1);
        await Promise.resolve();
        running--;
        if (number === 2) throw new Error("no");
        return number;
      }),
    ),
  );
  expect(results.map((result) => (result.status === "fulfilled" ? result.value : "failed"))).toEqual([
    1,
    "failed",
    3,
  ]);
});

test("a call that has waited too long rejects, and does not run", async () => {
  const turns = new Turns(-1);
  expect(await settled(turns.run("a", () => expect.unreachable()))).toThrow(TurnTimeout);
});
