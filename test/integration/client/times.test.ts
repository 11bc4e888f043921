// Time-outs and aborts, against a listener that accepts connections and never answers.

import { expect, test } from "bun:test";
import { PlantStoreClient, PlantStoreTimeoutError } from "../../../packages/client/src/index.ts";
import { rejectionOf } from "../../support/client.ts";
import { SilentListener } from "./silent-listener.ts";

const plant = { id: 1n, name: "Monstera" };

/** Half an answer: its head promises more than comes. */
const half = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name":';

async function timed(call: () => Promise<unknown>): Promise<{ error: unknown; ms: number }> {
  const start = performance.now();
  const error = await rejectionOf(call());
  return { error, ms: performance.now() - start };
}

test.each([
  ["no answer", ""],
  ["half an answer", half],
])("a try with %s ends after attemptTimeoutMs, and is tried again", async (_, words) => {
  using listener = new SilentListener(words);
  let tries = 0;
  const token = () => {
    tries++;
    return "pst_x";
  };
  const client = listener.client({
    token,
    attemptTimeoutMs: 100,
    maxRetries: 2,
    backoffMs: 1,
  });
  const { error, ms } = await timed(() => client.createPlant(plant));
  expect(error).toBeInstanceOf(PlantStoreTimeoutError);
  expect(String(error)).toContain("within 100 ms");
  expect(tries).toBe(3);
  expect(ms).toBeGreaterThan(290);
});

test("all attempts together end at timeoutMs", async () => {
  using listener = new SilentListener();
  const client = listener.client({
    attemptTimeoutMs: 400,
    timeoutMs: 600,
    maxRetries: 9,
    backoffMs: 1,
  });
  const { error, ms } = await timed(() => client.createPlant(plant));
  expect(error).toBeInstanceOf(PlantStoreTimeoutError);
  expect(ms).toBeGreaterThan(390);
  // By count and not by time, as a busy machine is late.
  expect(listener.connections).toBeLessThan(4);
});

test("a token function that does not resolve is a timeout", async () => {
  const client = new PlantStoreClient({
    baseUrl: "http://127.0.0.1:9",
    token: () => new Promise(() => undefined),
    attemptTimeoutMs: 50,
    maxRetries: 0,
  });
  expect((await timed(() => client.createPlant(plant))).error).toBeInstanceOf(PlantStoreTimeoutError);
});

test.each([
  ["no answer has come", ""],
  ["half an answer has come", half],
])("an abort while %s ends the create at once, with the signal's reason", async (_, words) => {
  using listener = new SilentListener(words);
  const client = listener.client();
  const controller = new AbortController();
  const reason = new Error("not needed any more");
  const created = rejectionOf(client.createPlant(plant, { signal: controller.signal }));
  await listener.requested;
  await Bun.sleep(50);
  const start = performance.now();
  controller.abort(reason);
  expect(await created).toBe(reason);
  expect(performance.now() - start).toBeLessThan(5_000);
  expect(listener.connections).toBe(1);
});

test("an attempt for which no time is left is not made: the error of the one before it is the result", async () => {
  using listener = new SilentListener("HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n");
  const client = listener.client({
    timeoutMs: 1_000,
    backoffMs: 0,
    onRetry: () => Bun.sleepSync(1_100),
  });
  expect(await rejectionOf(client.createPlant(plant))).toMatchObject({ status: 503 });
  expect(listener.connections).toBe(1);
});
