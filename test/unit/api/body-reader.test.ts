// The time-outs of bodies.

import { expect, test } from "bun:test";
import { BodyTimeouts, timedOut } from "../../../src/api/body-reader.ts";

test("a promise that settles in time keeps its value or its error", async () => {
  const timeouts = new BodyTimeouts(60_000);
  expect(await timeouts.withTimeout(Promise.resolve("body"))).toBe("body");
  await expect(timeouts.withTimeout(Promise.reject(new Error("aborted")))).rejects.toThrow("aborted");
});

test("a pending promise times out no earlier than its own time, whenever it was started", async () => {
  const timeoutMs = 80;
  const timeouts = new BodyTimeouts(timeoutMs);
  const waits = [0, 15, 30].map(async (delayMs) => {
    await Bun.sleep(delayMs);
    const start = performance.now();
    expect(await timeouts.withTimeout(Promise.withResolvers<string>().promise)).toBe(timedOut);
    return performance.now() - start;
  });
  // Timers of the runtime may fire a millisecond early.
  for (const waitedMs of await Promise.all(waits)) expect(waitedMs).toBeGreaterThanOrEqual(timeoutMs - 8);
});

test("a promise that settles after another one timed out keeps its value", async () => {
  const timeouts = new BodyTimeouts(40);
  expect(await timeouts.withTimeout(Promise.withResolvers<string>().promise)).toBe(timedOut);
  const next = Promise.withResolvers<string>();
  const waiting = timeouts.withTimeout(next.promise);
  next.resolve("body");
  expect(await waiting).toBe("body");
});
