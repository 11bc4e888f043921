// The time-outs of bodies, and the memory that they hold.

import { expect, test } from "bun:test";
import { BodyReader } from "../../../../src/core/http/body-reader.ts";

const caller = { key: "gardener's key" };
const limits = { bodyBytesMax: 50_000, inFlightBytesMax: 200_000, arrivalMsMax: 60_000 };

/** A request whose body is sent with these headers. */
function requestWith(body: string | ReadableStream<Uint8Array>, headers: Record<string, string> = {}) {
  return new Request("http://127.0.0.1/plants", { method: "POST", body, headers });
}

/** A request whose body does not end before `end` is called. */
function endlessRequest() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
      given.enqueue(new Uint8Array(5_000));
    },
  });
  return { request: requestWith(body), end: () => controller?.close() };
}

test.each([
  ["with a length", requestWith("body", { "Content-Length": "4" })],
  ["in chunks", requestWith("body")],
])("a body that arrives in time, %s, holds memory until it is parsed", async (_, request) => {
  const reader = new BodyReader(limits);
  const owner = {
    callerKey: caller.key,
    reservedBytes: 0,
    startTick: 0,
    isSettled: false,
    reject: () => expect.unreachable(),
  };
  expect(new TextDecoder().decode((await reader.start(request, owner)) as Uint8Array)).toBe("body");
  expect(reader.memory.used).toBeGreaterThanOrEqual(4);
  reader.end(owner);
  reader.end(owner);
  expect(reader.memory.used).toBe(0);
});

test("a body times out no earlier than its own time, whenever it was started, and holds nothing afterwards", async () => {
  const arrivalMsMax = 80;
  const reader = new BodyReader({ ...limits, arrivalMsMax });
  const waits = [0, 15, 30].map(async (delayMs) => {
    await Bun.sleep(delayMs);
    const { request, end } = endlessRequest();
    const start = performance.now();
    expect(await reader.read(request, caller)).toMatchObject({ code: "requestTimeout" });
    const waitedMs = performance.now() - start;
    end();
    return waitedMs;
  });
  // Timers of the runtime may fire a millisecond early.
  for (const waitedMs of await Promise.all(waits)) expect(waitedMs).toBeGreaterThanOrEqual(arrivalMsMax - 8);
  expect(reader.memory.used).toBe(0);
});

test("a body that ends after another one timed out is read", async () => {
  const reader = new BodyReader({ ...limits, arrivalMsMax: 40 });
  const slow = endlessRequest();
  expect(await reader.read(slow.request, caller)).toMatchObject({ code: "requestTimeout" });
  const next = endlessRequest();
  const body = reader.read(next.request, caller);
  next.end();
  expect(await body).toHaveLength(5_000);
  expect(await reader.read(requestWith("x".repeat(50_001)), caller)).toMatchObject({
    code: "contentTooLarge",
  });
  expect(reader.memory.used).toBe(0);
});
