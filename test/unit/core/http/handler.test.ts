// The handler without a socket: the response to each kind of request, and its one record.

import { expect, test } from "bun:test";
import type { Authenticator } from "../../../../src/core/auth/authenticator.ts";
import { ApiError } from "../../../../src/core/contract/errors.ts";
import { BodyReader } from "../../../../src/core/http/body-reader.ts";
import { createHandler, inProcess } from "../../../../src/core/http/handler.ts";
import type { ServerEvent } from "../../../../src/core/observability/server-event.ts";
import type { CreateOutcome } from "../../../../src/core/store/group-commit.ts";

const caller = { key: "gardener's key", name: "gardener" };
const context = { ...inProcess, origin: "http://127.0.0.1:8080" };

/** A handler whose creates have this outcome, and the events that it emits. */
function handlerWith(createOutcome: CreateOutcome | Error) {
  const events: ServerEvent[] = [];
  const authenticate = (headers: Headers) =>
    headers.has("authorization") ? caller : new ApiError("missingToken", "No token.");
  const handler = createHandler({
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
    publicUrl: undefined,
    corsOrigins: ["https://docs.example"],
    docs: true,
    requestIdPrefix: "test",
    now: () => 0,
    emit: (event) => events.push(event),
  });
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
const preflight = { Origin: "https://docs.example", "Access-Control-Request-Method": "POST" };
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
  ["a preflight", "created", request("OPTIONS", "/v1/plants", preflight), 204, "served", undefined],
  ["openapi.json", "created", request("GET", "/v1/openapi.json", {}), 200, "served", undefined],
  [
    "another method there",
    "created",
    request("PUT", "/v1/openapi.json", {}),
    405,
    "methodNotAllowed",
    undefined,
  ],
  ["the documentation page", "created", request("GET", "/v1/", {}), 200, "served", undefined],
] as const)("%s has one response and one record", async (_, createOutcome, sent, status, result, name) => {
  const { handler, events } = handlerWith(createOutcome);
  const response = await handler.handle(sent, context);
  expect(response.status).toBe(status);
  const path = new URL(sent.url).pathname;
  const answered = {
    kind: "requestCompleted",
    request: { requestId: "test-1", method: sent.method, path, status, result, caller: name },
  };
  const error = { kind: "internalError", requestId: "test-1", error: broken };
  expect(events).toMatchObject(createOutcome === broken ? [error, answered] : [answered]);
  expect(response.headers.get("x-request-id")).toBe("test-1");
  const allowedOrigin = response.headers.get("access-control-allow-origin");
  expect(allowedOrigin).toBe(sent.headers.get("origin"));
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
  await handler.handle(sent, context);
  expect(events).toMatchObject([
    { kind: "requestCompleted", request: { result: "clientAborted", caller: "gardener" } },
  ]);
});

test("a connection that is closed after the response says so", async () => {
  const { handler } = handlerWith("created");
  const sent = request("POST", "/v1/plants", authorized, plant);
  const response = await handler.handle(sent, { ...context, shouldClose: () => true });
  expect(response.headers.get("connection")).toBe("close");
});
