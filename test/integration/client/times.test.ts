// Time-outs and aborts, against a listener that accepts connections and never answers.

import { expect, test } from "bun:test";
import {
  PlantStoreClient,
  type PlantStoreClientOptions,
  PlantStoreTimeoutError,
} from "../../../packages/client/src/index.ts";
import { rejectionOf } from "../../support/client.ts";

const plant = { id: 1n, name: "Monstera" };

/** Half an answer: its head promises more than comes. */
const half = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name":';

/** A client of a listener that is silent after these words, and its number of attempts. */
function silentTarget(words: string, options: Partial<PlantStoreClientOptions>) {
  const requested = Promise.withResolvers<void>();
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data: (socket) => {
        if (words !== "") socket.write(words);
        requested.resolve();
      },
    },
  });
  const attempts = { count: 0 };
  const token = () => `pst_${++attempts.count}`;
  return {
    client: new PlantStoreClient({ baseUrl: `http://127.0.0.1:${listener.port}`, token, ...options }),
    attempts,
    requested: requested.promise,
    [Symbol.dispose]: () => listener.stop(true),
  };
}

test.each([
  ["no answer", ""],
  ["half an answer", half],
])("a try with %s ends after attemptTimeoutMs, and is tried again", async (_, words) => {
  using target = silentTarget(words, { attemptTimeoutMs: 100, maxRetries: 2, backoffMs: 1 });
  const error = await rejectionOf(target.client.createPlant(plant));
  expect(error).toBeInstanceOf(PlantStoreTimeoutError);
  expect(String(error)).toContain("within 100 ms");
  expect(target.attempts.count).toBe(3);
});

test("all attempts together end at timeoutMs", async () => {
  using target = silentTarget("", { attemptTimeoutMs: 400, timeoutMs: 600, maxRetries: 9, backoffMs: 1 });
  const error = await rejectionOf(target.client.createPlant(plant));
  expect(error).toBeInstanceOf(PlantStoreTimeoutError);
  // Counts attempts instead of time, because a busy machine is late.
  expect(target.attempts.count).toBeLessThan(4);
});

test("a token function that does not resolve is a timeout", async () => {
  const client = new PlantStoreClient({
    baseUrl: "http://127.0.0.1:9",
    token: () => new Promise(() => undefined),
    attemptTimeoutMs: 50,
    maxRetries: 0,
  });
  expect(await rejectionOf(client.createPlant(plant))).toBeInstanceOf(PlantStoreTimeoutError);
});

test.each([
  ["no answer has come", ""],
  ["half an answer has come", half],
])("an abort while %s ends the create at once, with the signal's reason", async (_, words) => {
  using target = silentTarget(words, {});
  const controller = new AbortController();
  const reason = new Error("not needed any more");
  const created = rejectionOf(target.client.createPlant(plant, { signal: controller.signal }));
  await target.requested;
  controller.abort(reason);
  expect(await created).toBe(reason);
  expect(target.attempts.count).toBe(1);
});

test("an attempt for which no time is left is not made: the error of the one before it is the result", async () => {
  using target = silentTarget("HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n", {
    timeoutMs: 1_000,
    backoffMs: 0,
    onRetry: () => Bun.sleepSync(1_100),
  });
  expect(await rejectionOf(target.client.createPlant(plant))).toMatchObject({ status: 503 });
  expect(target.attempts.count).toBe(1);
});
