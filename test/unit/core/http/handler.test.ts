// The handler without a socket: the response to each kind of request, and its one record.

import { expect, test } from "bun:test";
import type { Authenticator } from "../../../../src/core/auth/authenticator.ts";
import { ApiError } from "../../../../src/core/contract/errors.ts";
import type { NewPlant } from "../../../../src/core/contract/plant.ts";
import { BodyReader } from "../../../../src/core/http/body-reader.ts";
import { withCors } from "../../../../src/core/http/cors.ts";
import { createHandler, inProcess, withTickBudget } from "../../../../src/core/http/handler.ts";
import type { ServerEvent } from "../../../../src/core/observability/server-event.ts";
import type { CreateOutcome } from "../../../../src/core/store/group-commit.ts";
import { nextTurn } from "../../../support/eventually.ts";

const caller = { key: "gardener's key", name: "gardener", creator: null };
const context = { ...inProcess, origin: "http://127.0.0.1:8080" };

/** A handler whose creates have this outcome, and the events that it emits. */
function handlerWith(createOutcome: CreateOutcome | Error) {
  const events: ServerEvent[] = [];
  const authenticate = (headers: Headers) =>
    headers.has("authorization") ? caller : new ApiError("missingToken", "No token.");
  const handler = withCors(
    ["https://docs.example"],
    createHandler({
      authenticator: { authenticate } as Authenticator,
      rateLimit: undefined,
      bodyReader: new BodyReader({ bodyBytesMax: 1_000, inFlightBytesMax: 10_000, arrivalMsMax: 20_000 }),
      groupCommit: {
        isFullFor: () => false,
        create: (pending) => {
          if (createOutcome instanceof Error) pending.fail(createOutcome);
          else pending.settle(createOutcome);
        },
      },
      basePath: "/v1",
      makeRequestId: () => "test-1",
      now: () => 0,
      emit: (event) => events.push(event),
    }),
  );
  return { handler, events };
}

function request(method: string, path: string, headers: Record<string, string>, body?: string): Request {
  return new Request(`http://127.0.0.1:8080${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
}

const authorized = { Authorization: "Bearer x", "Content-Type": "application/json" };
const plant = '{"id":1,"name":"Monstera"}';
const broken = new Error("broken");

test.each([
  ["a create", "created", request("POST", "/v1/plants", authorized, plant), 200, "created", "gardener"],
  ["a replay", "unchanged", request("POST", "/v1/plants", authorized, plant), 200, "unchanged", "gardener"],
  ["a conflict", "conflict", request("POST", "/v1/plants", authorized, plant), 400, "conflict", "gardener"],
  [
    "a full queue",
    "overloaded",
    request("POST", "/v1/plants", authorized, plant),
    503,
    "unavailable",
    "gardener",
  ],
  [
    "an invalid body",
    "created",
    request("POST", "/v1/plants", authorized, "{"),
    400,
    "invalidJson",
    "gardener",
  ],
  [
    "an exception",
    broken,
    request("POST", "/v1/plants", authorized, plant),
    500,
    "internalError",
    "gardener",
  ],
  ["no token", "created", request("POST", "/v1/plants", {}, plant), 401, "missingToken", undefined],
  ["an unknown path", "created", request("GET", "/nowhere?x=1", authorized), 404, "notFound", "gardener"],
  [
    "another method",
    "created",
    request("PUT", "/v1/plants", authorized),
    405,
    "methodNotAllowed",
    "gardener",
  ],
] as const)("%s has one response and one record", async (_, createOutcome, sent, status, result, name) => {
  const { handler, events } = handlerWith(createOutcome);
  const response = await handler(sent, context);
  expect(response.status).toBe(status);
  const path = new URL(sent.url).pathname;
  const answered = {
    kind: "requestCompleted",
    request: { requestId: "test-1", method: sent.method, path, status, result, caller: name },
  };
  const error = { kind: "internalError", requestId: "test-1", error: broken };
  expect(events).toMatchObject(createOutcome === broken ? [error, answered] : [answered]);
  expect(response.headers.get("x-request-id")).toBe("test-1");
  expect(response.headers.has("access-control-allow-origin")).toBe(false);
});

test("a 200 has only the fields that its client needs", async () => {
  const { handler } = handlerWith("created");
  const response = await handler(request("POST", "/v1/plants", authorized, plant), context);
  expect([...response.headers.keys()].toSorted()).toEqual(["content-type", "x-request-id"]);
});

test.each([
  ["https://docs.example", "https://docs.example"],
  ["https://other.example", null],
])("a page of %s may read responses if its origin is listed", async (origin, allowed) => {
  const { handler, events } = handlerWith("created");
  const asked = { Origin: origin, "Access-Control-Request-Method": "POST" };
  const preflight = await handler(request("OPTIONS", "/v1/plants", asked), context);
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe(allowed);
  expect(events).toEqual([]);
  for (const headers of [authorized, {}]) {
    const sent = request("POST", "/v1/plants", { ...headers, Origin: origin }, plant);
    const response = await handler(sent, context);
    expect(response.headers.get("access-control-allow-origin")).toBe(allowed);
    expect(response.headers.get("vary")).toBe("Origin");
  }
});

test.each(["gzip", "br", "identity, gzip", "x"])(
  "a body with Content-Encoding %s is refused",
  async (encoding) => {
    const { handler } = handlerWith("created");
    const headers = { ...authorized, "Content-Encoding": encoding };
    const response = await handler(request("POST", "/v1/plants", headers, plant), context);
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ error: 41500, message: expect.stringContaining(encoding) });
  },
);

test("Content-Encoding identity changes nothing", async () => {
  const { handler } = handlerWith("created");
  const headers = { ...authorized, "Content-Encoding": "Identity" };
  expect((await handler(request("POST", "/v1/plants", headers, plant), context)).status).toBe(200);
});

test("a body that arrives after its time has run out is neither stored nor responded to again", async () => {
  const created: NewPlant[] = [];
  const events: ServerEvent[] = [];
  const handler = createHandler({
    authenticator: { authenticate: () => caller },
    rateLimit: undefined,
    bodyReader: new BodyReader({ bodyBytesMax: 1_000, inFlightBytesMax: 10_000, arrivalMsMax: 40 }),
    groupCommit: { isFullFor: () => false, create: ({ plant }) => created.push(plant) },
    basePath: "",
    makeRequestId: () => "test-1",
    now: () => 0,
    emit: (event) => events.push(event),
  });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const sent = new Request("http://x/plants", {
    method: "POST",
    headers: authorized,
    body: readable,
    duplex: "half",
  } as RequestInit);
  const response = await handler(sent, context);
  expect(response.status).toBe(408);
  const writer = writable.getWriter();
  await writer.write(new TextEncoder().encode(plant)).catch(() => undefined);
  await writer.close().catch(() => undefined);
  await nextTurn();
  expect(created).toEqual([]);
  expect(events).toMatchObject([{ request: { result: "requestTimeout" } }]);
});

test("a request whose client aborts is recorded as aborted, and is not an internal error", async () => {
  const { handler, events } = handlerWith("created");
  const abort = new AbortController();
  const body = new ReadableStream({
    pull(controller) {
      abort.abort();
      controller.error(new Error("aborted"));
    },
  });
  const sent = new Request("http://127.0.0.1:8080/v1/plants", {
    method: "POST",
    headers: authorized,
    body,
    signal: abort.signal,
  });
  await handler(sent, context);
  expect(events).toMatchObject([
    { kind: "requestCompleted", request: { result: "clientAborted", caller: "gardener" } },
  ]);
});

test("a connection that is closed after the response says so", async () => {
  const { handler } = handlerWith("created");
  const sent = request("POST", "/v1/plants", authorized, plant);
  const response = await handler(sent, { ...context, shouldClose: () => true });
  expect(response.headers.get("connection")).toBe("close");
});

test("responses that need no commit are sent a hundred in a turn of the event loop, also those of a handler before", async () => {
  const handler = withTickBudget(() => Promise.resolve(new Response("a page")));
  // Each turn has its own count.
  for (let turn = 0; turn < 2; turn++) {
    let sent = 0;
    for (let count = 0; count < 250; count++)
      void handler(request("GET", "/", {}), context).then(() => {
        sent++;
      });
    // Microtasks alone, so that the turn does not end.
    for (let count = 0; count < 20; count++) await Promise.resolve();
    expect(sent).toBe(100);
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(sent).toBe(250);
  }
});

test("the id of the trace is that of a request without an X-Request-Id", async () => {
  const { handler } = handlerWith("created");
  const idOf = async (headers: Record<string, string>) =>
    (await handler(request("GET", "/", headers), context)).headers.get("x-request-id");
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
  expect(await idOf({ traceparent })).toBe(trace);
  expect(await idOf({ traceparent, "X-Request-Id": "mine" })).toBe("mine");
  for (const malformed of [
    `ff-${trace}-00f067aa0ba902b7-01`,
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    trace,
  ])
    expect(await idOf({ traceparent: malformed })).toBe("test-1");
});
