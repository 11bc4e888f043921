// The gate of a sandbox, with requests that end when the test says so.

import { expect, test } from "bun:test";
import { RequestGate } from "../../../src/sandbox/request-gate.ts";
import { nextTurn } from "../../support/eventually.ts";
import { settled } from "../../support/settled.ts";

test("a reset ends and awaits the requests before it, and those after it await the reset", async () => {
  const gate = new RequestGate();
  const order: string[] = [];
  const { signal } = gate;
  const before = Promise.withResolvers<Response>();
  const first = gate.handle(() => before.promise);
  const resets = [nextTurn, () => undefined].map((wait, index) =>
    gate.reset(async () => {
      await wait();
      order.push(`reset ${index}`);
    }),
  );
  const after = gate.handle(async () => {
    order.push("after");
    return new Response();
  });
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  expect([order, signal.aborted, gate.signal.aborted]).toEqual([[], true, false]);
  before.resolve(new Response());
  await Promise.all([first, after, ...resets]);
  expect(order).toEqual(["reset 0", "reset 1", "after"]);
});

test("a reset that fails rejects, and lets the next requests in", async () => {
  const gate = new RequestGate();
  expect(await settled(gate.reset(() => Promise.reject(new Error("no memory"))))).toThrow("no memory");
  expect((await gate.handle(async () => new Response("in"))).status).toBe(200);
});
