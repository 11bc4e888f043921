// The time-outs of bodies, and the memory that they hold, on virtual time.

import { expect, test } from "bun:test";
import { BodyReader, noSlot } from "../../../src/http/body-reader.ts";
import { VirtualTime } from "../../support/virtual-time.ts";

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

function inChunks(...texts: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}

test.each([
  ["with a length", requestWith("body", { "Content-Length": "4" })],
  ["in chunks", requestWith(inChunks("bo", "dy"))],
])("a body that arrives in time, %s, holds memory until it is parsed", async (_, request) => {
  const reader = new BodyReader(limits);
  const owner = {
    callerKey: caller.key,
    reservedBytes: 0,
    timeoutSlot: noSlot,
    isSettled: false,
    reject: () => expect.unreachable(),
  };
  expect(new TextDecoder().decode((await reader.start(request, owner)) as Uint8Array)).toBe("body");
  expect(reader.memory.used).toBeGreaterThanOrEqual(4);
  reader.end(owner);
  reader.end(owner);
  expect(reader.memory.used).toBe(0);
});

test("a body times out when its own time is over, whenever it was started, and holds nothing afterwards", async () => {
  using time = new VirtualTime();
  const reader = new BodyReader({ ...limits, arrivalMsMax: 80 });
  const waits = [0, 15, 30].map(async (delayMs) => {
    await time.sleep(delayMs);
    const { request, end } = endlessRequest();
    expect(await reader.read(request, caller)).toMatchObject({ code: "requestTimeout" });
    end();
    return time.now() - delayMs;
  });
  // Time-outs are looked for a tenth of the time apart.
  for (const waitedMs of await time.until(Promise.all(waits), 1_000)) expect(waitedMs).toBeWithin(80, 100);
  expect(reader.memory.used).toBe(0);
});

test("a body that ends after another one timed out is read, and one over the limit is rejected", async () => {
  using time = new VirtualTime();
  const reader = new BodyReader(limits);
  const slow = reader.read(endlessRequest().request, caller);
  expect(await time.until(slow, 2 * limits.arrivalMsMax)).toMatchObject({ code: "requestTimeout" });
  const next = endlessRequest();
  const body = reader.read(next.request, caller);
  next.end();
  expect(await body).toHaveLength(5_000);
  const tooLarge = await reader.read(requestWith("x".repeat(50_001)), caller);
  expect(tooLarge).toMatchObject({ code: "contentTooLarge" });
  expect(reader.memory.used).toBe(0);
});

test("bodies of one caller leave memory for those of another", async () => {
  using time = new VirtualTime();
  const reader = new BodyReader({ ...limits, inFlightBytesMax: 400_000 });
  const greedy = Array.from({ length: 20 }, () => reader.read(endlessRequest().request, caller));
  expect(await Promise.race(greedy)).toMatchObject({ code: "unavailable" });
  // Seven eighths.
  expect(reader.memory.used).toBe(350_000);
  const other = requestWith("x".repeat(5_000));
  expect(await reader.read(other, { key: "botanist's key" })).toHaveLength(5_000);
  await time.until(Promise.all(greedy), 2 * limits.arrivalMsMax);
  expect(reader.memory.used).toBe(0);
});
