// What an operation does besides its work, in the handler of a server: the memory that it holds for its
// bodies, its rate, and what becomes of exceptions.

import { expect, spyOn, test } from "bun:test";
import { ApiError } from "../../../src/base/errors.ts";
import { OperatorError } from "../../../src/base/operator-error.ts";
import type { ServerEvent } from "../../../src/base/server-event.ts";
import { BodyReader } from "../../../src/http/body-reader.ts";
import { createHandler, inProcess } from "../../../src/http/handler.ts";
import { RateLimit } from "../../../src/http/rate-limit.ts";
import { defineOperation, type Result } from "../../../src/plants/define-operation.ts";
import { TurnTimeout } from "../../../src/store/groups.ts";
import type { IsGone } from "../../../src/store/list-reads.ts";
import type { OperationStore } from "../../../src/store/operation-store.ts";
import { PlantTooLarge } from "../../../src/store/plant-store.ts";
import { WrongStatement } from "../../../src/store/sql-connection.ts";
import { plantStore } from "../../support/contracts.ts";
import { nextTurn } from "../../support/eventually.ts";

const bodyBytesMax = 1_000;

/** A handler with operations at one path: all but the GET read a body before `handle` runs. */
function handlerWith(handle: () => Promise<Result> | Result, rateLimit?: RateLimit) {
  const events: ServerEvent[] = [];
  /** Asked by the store of each request. */
  const isGone: IsGone[] = [];
  const bodyReader = new BodyReader({ bodyBytesMax, inFlightBytesMax: 500_000, arrivalMsMax: 40 });
  const row = { operationId: "water", path: "/water", summary: "", responses: {}, handle };
  const parse = (bytes: Uint8Array) => (bytes.length === 1 ? new ApiError("invalidPlant", "no") : bytes);
  const body = { schema: {}, parse };
  const handler = createHandler({
    contract: plantStore,
    operations: [
      defineOperation({ ...row, method: "GET" }),
      defineOperation({ ...row, method: "PUT", body }),
      defineOperation({ ...row, method: "POST", body }),
    ],
    storeOf(_, isGoneOf) {
      if (isGoneOf !== undefined) isGone.push(isGoneOf);
      return {} as OperationStore;
    },
    newId: () => 1n,
    authenticator: { authenticate: () => ({ key: "key", name: "gardener", creator: 1 }) },
    resolveCreator: async () => undefined,
    rateLimit,
    bodyReader,
    groupCommit: { isFullFor: () => false, create: () => undefined },
    basePath: "",
    makeRequestId: () => "1",
    now: () => 0,
    emit: (event) => events.push(event),
  });
  return { bodyReader, events, isGone, handle: (request: Request) => handler(request, inProcess) };
}

const type = { "Content-Type": "application/json" };

/** A request with a body of so many bytes, which has a length or comes in chunks. */
function requestOf(bytes: number, headers: Record<string, string> = {}): Request {
  const body = "x".repeat(bytes);
  return new Request("http://a/water", { method: "PUT", headers: { ...type, ...headers }, body });
}

function endless(signal?: AbortSignal): Request {
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new Uint8Array(10));
      signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return new Request("http://a/water", { method: "PUT", headers: type, body, ...(signal && { signal }) });
}

test.each([
  ["a reply", requestOf(500), () => ({ status: 204 }), 204],
  [
    "a reply to a body with a length",
    requestOf(500, { "Content-Length": "500" }),
    () => ({ status: 204 }),
    204,
  ],
  ["an error of the handler", requestOf(500), () => new ApiError("notFound", "There is none."), 404],
  ["an exception", requestOf(500), () => Promise.reject(new Error("broken")), 500],
  ["what is no JSON", requestOf(500), () => new Map(), 500],
  [
    "a long reply whose header field has a line end",
    requestOf(500),
    () => ({ status: 200, jsonText: JSON.stringify("x".repeat(50_000)), headers: { a: "b\nc" } }),
    500,
  ],
  ["no response", requestOf(500), () => Response.error(), 500],
  ["an upgrade", requestOf(500), () => new Response(null, { status: 101 }), 500],
  ["a wrong body", requestOf(1), () => ({ status: 204 }), 400],
  ["a body over the limit", requestOf(bodyBytesMax + 1), () => ({ status: 204 }), 413],
  ["an announced one", requestOf(1_001, { "Content-Length": "1001" }), () => ({ status: 204 }), 413],
  ["a length that is none", requestOf(5, { "Content-Length": "5, 5" }), () => ({ status: 204 }), 400],
  ["a body of another type", requestOf(500, { "Content-Type": "text/plain" }), () => ({ status: 204 }), 415],
  ["a late body", endless(), () => ({ status: 204 }), 408],
] as const)("after %s no memory is held", async (_, request, result, status) => {
  const { handle, bodyReader } = handlerWith(result);
  expect((await handle(request)).status).toBe(status);
  await nextTurn();
  expect(bodyReader.memory.used).toBe(0);
});

test("a response without a body is sent again, and a stream once", async () => {
  const gone = new Response(null, { status: 204, headers: { "X-A": "1" } });
  const { handle } = handlerWith(() => gone);
  const first = await handle(requestOf(500));
  first.headers.delete("X-A");
  expect((await handle(requestOf(500))).headers.get("X-A")).toBe("1");
  const stream = new Response(new Blob(["It rains."]).stream(), { status: 201 });
  const streaming = handlerWith(() => stream);
  expect(await (await streaming.handle(requestOf(500))).text()).toBe("It rains.");
  expect((await streaming.handle(requestOf(500))).status).toBe(500);
});

test("after a client has left, also while its body arrives, no memory is held", async () => {
  const { handle, bodyReader } = handlerWith(() => ({
    status: 200,
    jsonText: JSON.stringify("x".repeat(50_000)),
  }));
  const abort = new AbortController();
  const left = handle(endless(abort.signal));
  await nextTurn();
  expect(bodyReader.memory.used).toBe(bodyBytesMax);
  abort.abort();
  await left;
  expect(bodyReader.memory.used).toBe(0);
  const response = await handle(requestOf(500));
  expect(bodyReader.memory.used).toBe(50_002);
  await response.body?.cancel();
  expect(bodyReader.memory.used).toBe(0);
  expect(await (await handle(requestOf(500))).text()).toHaveLength(50_002);
  expect(bodyReader.memory.used).toBe(0);
});

test("the memory of a reply is that of its bytes", async () => {
  const { handle, bodyReader } = handlerWith(() => ({ status: 200, json: "€".repeat(10_000) }));
  const response = await handle(requestOf(500));
  expect(bodyReader.memory.used).toBe(30_002);
  await response.body?.cancel();
  expect(bodyReader.memory.used).toBe(0);
});

test("the store of a request knows when its client has left", async () => {
  const ending = Promise.withResolvers<Result>();
  const { handle, isGone } = handlerWith(() => ending.promise);
  const abort = new AbortController();
  const response = handle(new Request("http://a/water", { signal: abort.signal }));
  await nextTurn();
  expect(isGone.map((ask) => ask())).toEqual([false]);
  abort.abort();
  expect(isGone.map((ask) => ask())).toEqual([true]);
  ending.resolve({ status: 204 });
  await response;
});

test("the memory of a body is held, as long as it is, until its operation has ended, and no longer than that", async () => {
  const ending = Promise.withResolvers<Result>();
  const { handle, bodyReader } = handlerWith(() => ending.promise);
  const response = handle(requestOf(500));
  await nextTurn();
  // As long as another body takes to time out.
  expect((await handle(endless())).status).toBe(408);
  expect(bodyReader.memory.used).toBe(500);
  ending.resolve({ status: 204 });
  expect((await response).status).toBe(204);
  expect(bodyReader.memory.used).toBe(0);
});

test("a body that arrives after its time does not run its operation", async () => {
  let runs = 0;
  const { handle, bodyReader } = handlerWith(() => ({ status: 204, headers: { n: String(++runs) } }));
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const request = new Request("http://a/water", { method: "PUT", headers: type, body: readable });
  expect((await handle(request)).status).toBe(408);
  const writer = writable.getWriter();
  await writer.write(new Uint8Array(10)).catch(() => undefined);
  await writer.close().catch(() => undefined);
  await nextTurn();
  expect([runs, bodyReader.memory.used]).toEqual([0, 0]);
});

test("a reply has its own header fields instead of ours, in any case, but the id of its request", async () => {
  const headers = { "content-type": "text/csv", "cache-control": "max-age=5", "x-request-id": "own" };
  const { handle } = handlerWith(() => ({ status: 200, json: 1, headers }));
  const response = await handle(requestOf(500));
  expect(Object.fromEntries(response.headers)).toMatchObject({ ...headers, "x-request-id": "1" });
  const responding = handlerWith(() => new Response("1", { headers }));
  const own = await responding.handle(requestOf(500));
  expect(Object.fromEntries(own.headers)).toMatchObject({ ...headers, "x-request-id": "1" });
});

test("fields of replies whose names the handler makes up are not kept for ever", async () => {
  using set = spyOn(Map.prototype, "set");
  let replies = 0;
  const { handle } = handlerWith(() => ({ status: 204, headers: { [`x-${replies++}`]: "1" } }));
  for (let request = 0; request < 200; request++) {
    const own = [...(await handle(requestOf(500))).headers.keys()].filter((name) => /^x-\d/.test(name));
    expect(own).toEqual([`x-${request}`]);
  }
  const kept = set.mock.contexts[set.mock.calls.findIndex(([key]) => key === " x-0")];
  expect((kept as Map<unknown, unknown>).size).toBe(100);
});

test("HEAD holds no memory for the body that it leaves out", async () => {
  const { handle, bodyReader } = handlerWith(() => ({ status: 200, json: "x".repeat(50_000) }));
  const response = await handle(new Request("http://a/water", { method: "HEAD" }));
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect(bodyReader.memory.used).toBe(0);
});

test.each([
  [new TurnTimeout("busy"), 503, "The server is overloaded and did not run the operation", undefined],
  [new PlantTooLarge("too large"), 413, "The values are more than the store can keep in one row", undefined],
  [new OperatorError("the disk is gone"), 503, "The store cannot be used now", "operationFailed"],
  [WrongStatement.of("no such table", "SELECT 1"), 500, "", "internalError"],
  [new ApiError("notFound", "There is none."), 404, "There is none.", undefined],
])(
  "%s of a handler is %d, and in the log if an operator can mend it",
  async (thrown, status, message, kind) => {
    const { handle, events } = handlerWith(() => Promise.reject(thrown));
    const response = await handle(requestOf(500));
    expect(response.status).toBe(status);
    expect(((await response.json()) as { message: string }).message).toStartWith(message);
    expect(events.map((event) => event.kind)).toEqual([
      ...(kind === undefined ? [] : [kind]),
      "requestCompleted",
    ] as never);
  },
);

test.each([
  ["PUT", "safe"],
  ["POST", undefined],
])("only what may be done twice is said to be safe to send again: %s", async (method, said) => {
  const { handle } = handlerWith(() => Promise.reject(new OperatorError("the disk is gone")));
  const request = new Request("http://a/water", { method, headers: type, body: "xx" });
  expect(/safe/.exec(await (await handle(request)).text())?.[0]).toBe(said as string);
});

test("a response that has no memory left is 503, and holds none", async () => {
  const { handle, bodyReader } = handlerWith(() => ({
    status: 200,
    jsonText: JSON.stringify("x".repeat(600_000)),
  }));
  expect((await handle(requestOf(500))).status).toBe(503);
  expect(bodyReader.memory.used).toBe(0);
});

test("operations count as creates do where callers have a rate", async () => {
  let runs = 0;
  const rateLimit = new RateLimit({ requestsPerSecond: 1, burst: 1 }, () => 0);
  const { handle } = handlerWith(() => ({ status: 204, headers: { n: String(++runs) } }), rateLimit);
  expect((await handle(requestOf(500))).status).toBe(204);
  const refused = await handle(requestOf(500));
  expect([refused.status, refused.headers.get("ratelimit"), runs]).toEqual([429, '"token";r=0;t=1', 1]);
});
