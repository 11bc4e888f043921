// The handler without a socket: the response to each kind of request, and its one record.

import { expect, test } from "bun:test";
import type { ResolveCreator } from "../../../src/auth/caller.ts";
import { ApiError } from "../../../src/base/errors.ts";
import type { ServerEvent } from "../../../src/base/server-event.ts";
import { BodyReader } from "../../../src/http/body-reader.ts";
import { withCors } from "../../../src/http/cors.ts";
import { createHandler, inProcess, withTickBudget } from "../../../src/http/handler.ts";
import { routerOf } from "../../../src/http/router.ts";
import { createOperation } from "../../../src/plants/create-plant.ts";
import type { CreateOutcome } from "../../../src/store/group-commit.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { plantStore, readSingle } from "../../support/contracts.ts";
import { nextTurn } from "../../support/eventually.ts";

const caller = { key: "gardener's key", name: "gardener", creator: 1 };
/** The Authorization of a caller whose creator is not known yet. */
const newcomer = "Bearer newcomer";
const target = { collection: plantStore, newId: () => 1n, itemPath: undefined, sql: undefined };
const context = { ...inProcess, origin: "http://127.0.0.1:8080" };

/**
 * A handler whose creates have this outcome, the plants that it creates, and the events it emits.
 */
function handlerWith(
  createOutcome: CreateOutcome | Error,
  arrivalMsMax = 20_000,
  resolveCreator: ResolveCreator = async () => undefined,
  own = target,
) {
  const created: object[] = [];
  const events: ServerEvent[] = [];
  const authenticate = (headers: Headers) => {
    const authorization = headers.get("authorization");
    if (authorization === newcomer) return { ...caller, creator: undefined };
    return authorization === null ? new ApiError("missingToken", "No token.") : caller;
  };
  const bodyReader = new BodyReader({ bodyBytesMax: 1_000, inFlightBytesMax: 10_000, arrivalMsMax });
  const handler = withCors(
    ["https://docs.example"],
    [createOperation(own)],
    createHandler({
      contract: plantStore,
      operations: [createOperation(own)],
      storeOf: undefined,
      newId: () => 1n,
      authenticator: { authenticate },
      resolveCreator,
      rateLimit: undefined,
      bodyReader,
      groupCommit: {
        isFullFor: () => false,
        create: (pending) => {
          created.push({ plant: pending.plant, callerKey: pending.callerKey, creator: pending.creator });
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
  return { handler, events, created, bodyReader };
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

const create = (headers: Record<string, string> = authorized, body = plant) =>
  request("POST", "/v1/plants", headers, body);

test.each([
  ["a create", "created", create(), 200, "created"],
  ["a replay", "unchanged", create(), 200, "unchanged"],
  ["a conflict", "conflict", create(), 400, "conflict"],
  ["a full queue", "overloaded", create(), 503, "unavailable"],
  ["an invalid body", "created", create(authorized, "{"), 400, "invalidJson"],
  ["an exception", broken, create(), 500, "internalError"],
  ["no token", "created", create({}), 401, "missingToken"],
  ["an unknown path", "created", request("GET", "/nowhere?x=1", authorized), 404, "notFound"],
  ["an unknown path without a token", "created", request("GET", "/nowhere", {}), 401, "missingToken"],
  ["another method", "created", request("PUT", "/v1/plants", authorized), 405, "methodNotAllowed"],
] as const)("%s has one response and one record", async (_, createOutcome, sent, status, result) => {
  const { handler, events, bodyReader } = handlerWith(createOutcome);
  const response = await handler(sent, context);
  expect(response.status).toBe(status);
  expect(bodyReader.memory.used).toBe(0);
  const challenge = response.headers.get("www-authenticate");
  expect(challenge).toBe(status === 401 ? 'Bearer realm="plantstore"' : null);
  const path = new URL(sent.url).pathname;
  const name = result === "missingToken" ? undefined : "gardener";
  const answered = {
    kind: "requestCompleted",
    request: { requestId: "test-1", method: sent.method, path, status, result, caller: name },
  };
  const error = { kind: "internalError", requestId: "test-1", error: broken };
  expect(events).toMatchObject(createOutcome === broken ? [error, answered] : [answered]);
  expect(response.headers.get("x-request-id")).toBe("test-1");
  expect(response.headers.has("access-control-allow-origin")).toBe(false);
});

test("a create has its plant and its caller, and a 200 only the fields that its client needs", async () => {
  const { handler, created } = handlerWith("created");
  const response = await handler(create(), context);
  expect(created).toEqual([
    { plant: { id: 1n, values: ["Monstera", undefined] }, callerKey: caller.key, creator: 1 },
  ]);
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
  if (allowed !== null)
    expect(preflight.headers.get("access-control-allow-headers")).toMatch(/authorization.*content-type/i);
  expect(events).toEqual([]);
  for (const headers of [authorized, {}]) {
    const sent = create({ ...headers, Origin: origin });
    const response = await handler(sent, context);
    expect(response.headers.get("access-control-allow-origin")).toBe(allowed);
    expect(response.headers.get("vary")).toBe("Origin");
    if (allowed !== null)
      expect(response.headers.get("access-control-expose-headers")).toMatch(/WWW-Authenticate.*Retry-After/);
  }
});

test.each([
  ["*", "*"],
  ["off", null],
] as const)(
  "with CORS %s a page gets %p, and OPTIONS without a question is the operation's",
  async (origins, allowed) => {
    const handler = withCors(origins, [], () => Promise.resolve(new Response("an operation")));
    for (const [asked, text] of [
      [{ "Access-Control-Request-Method": "POST" }, ""],
      [{}, "an operation"],
    ] as const) {
      const response = await handler(
        request("OPTIONS", "/", { ...asked, Origin: "https://a.example" }),
        context,
      );
      expect([response.headers.get("access-control-allow-origin"), await response.text()]).toEqual([
        allowed,
        text,
      ]);
    }
  },
);

test.each([
  ["gzip", 415],
  ["identity, gzip", 415],
  ["Identity", 200],
])("the response to a body with Content-Encoding %s is %d", async (encoding, status) => {
  const { handler } = handlerWith("created");
  const response = await handler(create({ ...authorized, "Content-Encoding": encoding }), context);
  expect(response.status).toBe(status);
  if (status === 415)
    expect(await response.json()).toMatchObject({ error: 41500, message: expect.stringContaining(encoding) });
});

test.each([
  ["announced", { "Content-Length": String(plant.length) }],
  ["in chunks", {}],
])(
  "a body that arrives %s after its time has run out is neither stored nor responded to again",
  async (_, framing) => {
    const { handler, events, created } = handlerWith("created", 40);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const sent = new Request("http://x/v1/plants", {
      method: "POST",
      headers: { ...authorized, ...framing },
      body: readable,
      duplex: "half",
    } as RequestInit);
    const response = await handler(sent, context);
    expect([response.status, response.headers.get("connection")]).toEqual([408, "close"]);
    const writer = writable.getWriter();
    await writer.write(new TextEncoder().encode(plant)).catch(() => undefined);
    await writer.close().catch(() => undefined);
    await nextTurn();
    expect(created).toEqual([]);
    expect(events).toMatchObject([{ request: { result: "requestTimeout" } }]);
  },
);

test("a body that has arrived does not time out while the store looks for its creator", async () => {
  // As long as another body takes to time out.
  const resolveCreator = async () => {
    const body = new ReadableStream();
    const silent = { method: "POST", headers: authorized, body };
    expect((await handler(new Request("http://x/v1/plants", silent), context)).status).toBe(408);
    return undefined;
  };
  const { handler, created } = handlerWith("created", 40, resolveCreator);
  const response = await handler(create({ ...authorized, Authorization: newcomer }), context);
  expect([response.status, created.length]).toEqual([200, 1]);
});

test("a plant whose creator cannot be recorded now is not stored", async () => {
  const error = new ApiError("unavailable", "The store is away.");
  const { handler, created } = handlerWith("created", 20_000, async () => error);
  const response = await handler(create({ ...authorized, Authorization: newcomer }), context);
  expect([response.status, created]).toEqual([503, []]);
});

test("a create without the Idempotency-Key that its contract requires is not stored", async () => {
  const collection = { ...plantStore, id: { ...plantStore.id, isRequired: false }, requiresKey: true };
  const { handler, created } = handlerWith("created", 20_000, undefined, { ...target, collection });
  expect((await handler(create(), context)).status).toBe(400);
  expect(created).toEqual([]);
  expect((await handler(create({ ...authorized, "Idempotency-Key": "a" }), context)).status).toBe(200);
});

test.each([
  [{}, undefined],
  [{ "Idempotency-Key": "a" }, "safe"],
])("a create that fails with %p is said to be safe to send again: %p", async (key, said) => {
  const collection = { ...plantStore, id: { ...plantStore.id, isRequired: false } };
  const { handler } = handlerWith(broken, 20_000, undefined, { ...target, collection });
  const response = await handler(create({ ...authorized, ...key }, '{"name":"Monstera"}'), context);
  expect(response.status).toBe(500);
  expect(/safe/.exec(await response.text())?.[0]).toBe(said as string);
});

test("the Location of what is created has its id, encoded", async () => {
  const collection = await readSingle({ text: await Bun.file(contractFile("codes.yaml")).text() });
  const own = { ...target, collection, itemPath: ["/parts/", ""] };
  const { handler } = handlerWith("created", 20_000, undefined, own as never);
  const sent = request("POST", "/v1/parts", authorized, '{"code":"a/b ?ä","name":"Bolt"}');
  const { status, headers } = await handler(sent, context);
  expect([status, headers.get("location")]).toEqual([200, "/parts/a%2Fb%20%3F%C3%A4"]);
});

test("a request whose client aborts is recorded as aborted, with the status of nginx, and is not an internal error", async () => {
  const { handler, events } = handlerWith("created");
  const abort = new AbortController();
  const body = new ReadableStream({
    pull(controller) {
      abort.abort();
      // As Bun does.
      controller.error(abort.signal.reason);
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
    { kind: "requestCompleted", request: { status: 499, result: "clientAborted", caller: "gardener" } },
  ]);
});

test("an exception of the store is logged, also where the client has left", async () => {
  const { handler, events } = handlerWith(broken);
  const abort = new AbortController();
  const sent = new Request(create(), { signal: abort.signal });
  abort.abort();
  await handler(sent, context);
  expect(events).toMatchObject([
    { kind: "internalError", requestId: "test-1", error: broken },
    { kind: "requestCompleted", request: { result: "internalError" } },
  ]);
});

test("responses that need no commit are sent a hundred in a turn of the event loop, also those of a handler before", async () => {
  const { handler } = handlerWith("created");
  const pages = withTickBudget(handler, () => () => Promise.resolve(new Response("a page")));
  const passedOn = withTickBudget(handler, (next) => next);
  // Each turn has its own count.
  for (const handle of [pages, pages, handler, passedOn]) {
    let sent = 0;
    for (let count = 0; count < 700; count++)
      void handle(request("GET", "/", {}), context).then(() => {
        sent++;
      });
    // Microtasks alone, so that the turn does not end.
    for (let count = 0; count < 20; count++) await Promise.resolve();
    expect(sent).toBe(100);
    // At most 500 that have waited.
    await nextTurn();
    expect(sent).toBe(600);
    await nextTurn();
    expect(sent).toBe(700);
  }
});

test("a request has the well-formed X-Request-Id that it came with, or the id of its trace, or a new one", async () => {
  const { handler, events } = handlerWith("created");
  const idOf = async (headers: Record<string, string>) =>
    (await handler(request("GET", "/", headers), context)).headers.get("x-request-id");
  for (const id of ["a", "0f8fad5b-d9cb-469f-a165-70867728950e", "a".repeat(128)])
    expect(await idOf({ "X-Request-Id": id })).toBe(id);
  for (const id of ["two words", '"quoted"', "<b>", "a".repeat(129)])
    expect(await idOf({ "X-Request-Id": id })).toBe("test-1");
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
  const traced = events.flatMap((event) =>
    event.kind === "requestCompleted" ? event.request.traceparent : [],
  );
  expect(new Set(traced)).toEqual(new Set([null, traceparent]));
});

test("a field of one 200 is not in another one", async () => {
  const { handler } = handlerWith("created");
  const withId = (id: string) => create({ ...authorized, "X-Request-Id": id });
  const first = await handler(withId("one"), context);
  first.headers.set("RateLimit", '"token";r=1;t=1');
  const second = await handler(withId("two"), context);
  expect(Object.fromEntries(first.headers)).toMatchObject({ "x-request-id": "one" });
  expect(Object.fromEntries(second.headers)).toEqual({
    "content-type": "application/json",
    "x-request-id": "two",
  });
});

test.each(["/nothing/", "/v1/plants/"])(
  "the message of a path below %s is short, however long the path is",
  async (start) => {
    const { handler, events } = handlerWith("created");
    const response = await handler(request("GET", start + "%00".repeat(3_000), authorized), context);
    expect((await response.text()).length).toBeLessThan(500);
    expect(
      JSON.stringify(events.map((event) => event.kind === "requestCompleted" && event.request.message))
        .length,
    ).toBeLessThan(500);
  },
);

test("a path is found in every percent-encoding of its characters", async () => {
  const { handler, created } = handlerWith("created");
  const response = await handler(request("POST", "/%76%31/pl%61nts", authorized, plant), context);
  expect([response.status, created.length]).toEqual([200, 1]);
  const grüße = routerOf([{ ...createOperation(target), path: "/gr%C3%BC%C3%9Fe" }], "", plantStore);
  expect(grüße("POST", "/gr%c3%bc%c3%9fe").operation).toBeDefined();
});
