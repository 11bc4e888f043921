// Bodies that arrive in time, and bodies that do not.

import { expect, test } from "bun:test";
import { Arrivals, late } from "../../../src/api/arrivals.ts";

test("what arrives is handed on, and what fails fails", async () => {
  const arrivals = new Arrivals(60_000);
  expect(await arrivals.inTime(Promise.resolve("body"))).toBe("body");
  await expect(arrivals.inTime(Promise.reject(new Error("broken off")))).rejects.toThrow("broken off");
});

test("what does not arrive is late once its whole time is over, each by its own beginning", async () => {
  const msMax = 80;
  const arrivals = new Arrivals(msMax);
  const waits = [0, 15, 30].map(async (backoffMs) => {
    await Bun.sleep(backoffMs);
    const begin = performance.now();
    expect(await arrivals.inTime(Promise.withResolvers<string>().promise)).toBe(late);
    return performance.now() - begin;
  });
  // Timers of the runtime may come a millisecond early.
  for (const waitedMs of await Promise.all(waits)) expect(waitedMs).toBeGreaterThanOrEqual(msMax - 8);
});

test("one that arrives after another was given up is handed on", async () => {
  const arrivals = new Arrivals(40);
  expect(await arrivals.inTime(Promise.withResolvers<string>().promise)).toBe(late);
  const next = Promise.withResolvers<string>();
  const waiting = arrivals.inTime(next.promise);
  next.resolve("body");
  expect(await waiting).toBe("body");
});
