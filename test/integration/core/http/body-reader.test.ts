// The time-outs of bodies, and the memory that they hold.

import { expect, test } from "bun:test";
import type { ApiError } from "../../../../src/core/contract/errors.ts";
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

/** The owner of a body, and the error that it is refused with. */
function bodyOwner() {
  const { promise, resolve } = Promise.withResolvers<ApiError>();
  const owner = {
    callerKey: "gardener's key",
    reservedBytes: 0,
    startTick: 0,
    isSettled: false,
    reject(error: ApiError) {
      owner.isSettled = true;
      resolve(error);
    },
  };
  return { owner, refused: promise };
}

test.each([
  ["with a length", requestWith("body", { "Content-Length": "4" })],
  ["in chunks", requestWith("body")],
])("a body that arrives in time, %s, holds memory until it is parsed", async (_, request) => {
  const reader = new BodyReader(limits);
  const { owner } = bodyOwner();
  expect(new TextDecoder().decode((await reader.start(request, owner)) as Uint8Array)).toBe("body");
  expect(reader.bytesInFlight).toBeGreaterThanOrEqual(4);
  reader.end(owner);
  reader.end(owner);
  expect(reader.bytesInFlight).toBe(0);
});

test("a body times out no earlier than its own time, whenever it was started, and holds nothing afterwards", async () => {
  const arrivalMsMax = 80;
  const reader = new BodyReader({ ...limits, arrivalMsMax });
  const waits = [0, 15, 30].map(async (delayMs) => {
    await Bun.sleep(delayMs);
    const { request, end } = endlessRequest();
    const start = performance.now();
    const { owner, refused } = bodyOwner();
    const body = reader.start(request, owner);
    expect((await refused).code).toBe("requestTimeout");
    const waitedMs = performance.now() - start;
    end();
    await body;
    return waitedMs;
  });
  // Timers of the runtime may fire a millisecond early.
  for (const waitedMs of await Promise.all(waits)) expect(waitedMs).toBeGreaterThanOrEqual(arrivalMsMax - 8);
  expect(reader.bytesInFlight).toBe(0);
});

test("a body that ends after another one timed out is read", async () => {
  const reader = new BodyReader({ ...limits, arrivalMsMax: 40 });
  const slow = endlessRequest();
  const { owner, refused } = bodyOwner();
  void reader.start(slow.request, owner);
  await refused;
  const next = endlessRequest();
  const nextOwner = bodyOwner().owner;
  const body = reader.start(next.request, nextOwner);
  next.end();
  expect(await body).toHaveLength(5_000);
  reader.end(nextOwner);
});

test("a whole body can be read, or times out", async () => {
  const reader = new BodyReader({ ...limits, arrivalMsMax: 40 });
  expect(await reader.read(requestWith("body"), caller)).toEqual(new TextEncoder().encode("body"));
  const { request } = endlessRequest();
  expect(await reader.read(request, caller)).toMatchObject({ code: "requestTimeout" });
  expect(await reader.read(requestWith("x".repeat(50_001)), caller)).toMatchObject({
    code: "contentTooLarge",
  });
  expect(reader.bytesInFlight).toBe(0);
});
