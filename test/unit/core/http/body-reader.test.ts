// The time-outs of bodies, and the memory that they hold.

import { expect, test } from "bun:test";
import { ApiError } from "../../../../src/core/contract/errors.ts";
import { BodyReader, type BodyReading } from "../../../../src/core/http/body-reader.ts";

const caller = { key: "gardener's key", name: "gardener" };
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

function reading(started: BodyReading | ApiError): BodyReading {
  if (started instanceof ApiError) throw new Error(started.message);
  return started;
}

const neverTimesOut = {
  refuse: (error: ApiError) => {
    throw new Error(error.message);
  },
};

test.each([
  ["with a length", requestWith("body", { "Content-Length": "4" })],
  ["in chunks", requestWith("body")],
])("a body that arrives in time, %s, holds memory until it is parsed", async (_, request) => {
  const reader = new BodyReader(limits);
  const started = reading(reader.start(request, caller, neverTimesOut));
  expect(new TextDecoder().decode((await started.body) as Uint8Array)).toBe("body");
  expect(reader.bytesInFlight).toBeGreaterThanOrEqual(4);
  started.end();
  started.end();
  expect(reader.bytesInFlight).toBe(0);
});

test("a body times out no earlier than its own time, whenever it was started, and holds nothing afterwards", async () => {
  const arrivalMsMax = 80;
  const reader = new BodyReader({ ...limits, arrivalMsMax });
  const waits = [0, 15, 30].map(async (delayMs) => {
    await Bun.sleep(delayMs);
    const { request, end } = endlessRequest();
    const start = performance.now();
    const { promise, resolve } = Promise.withResolvers<ApiError>();
    const started = reading(reader.start(request, caller, { refuse: resolve }));
    expect((await promise).code).toBe("requestTimeout");
    const waitedMs = performance.now() - start;
    expect(started.hasTimedOut).toBe(true);
    end();
    await started.body;
    return waitedMs;
  });
  // Timers of the runtime may fire a millisecond early.
  for (const waitedMs of await Promise.all(waits)) expect(waitedMs).toBeGreaterThanOrEqual(arrivalMsMax - 8);
  expect(reader.bytesInFlight).toBe(0);
});

test("a body that ends after another one timed out is read", async () => {
  const reader = new BodyReader({ ...limits, arrivalMsMax: 40 });
  const slow = endlessRequest();
  await new Promise((resolve) => reader.start(slow.request, caller, { refuse: resolve }));
  const next = endlessRequest();
  const started = reading(reader.start(next.request, caller, neverTimesOut));
  next.end();
  expect(await started.body).toHaveLength(5_000);
  started.end();
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
