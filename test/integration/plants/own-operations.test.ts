// Operations of one's own: whatever a handler returns or throws is a response, and what is none is 500
// with its stack in the log.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ServerEvent } from "../../../src/base/server-event.ts";
import { ApiError, type Operation } from "../../../src/index.ts";
import { runHandler } from "../../../src/plants/own-operation.ts";
import { engines } from "../../support/engines.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process-server.ts";
import { ownOperation } from "../../support/own-operation.ts";
import { settled } from "../../support/settled.ts";

type Handle = Parameters<typeof ownOperation>[1];

/** What a handler does, and the response to it. */
const outcomes: Readonly<Record<string, readonly [handle: Handle, status: number, body: unknown]>> = {
  reply: [() => ({ status: 202, json: { id: 9007199254740993n } }), 202, '{"id":9007199254740993}'],
  nothing204: [() => ({ status: 204 }), 204, ""],
  value: [() => ({ status: "cancelled", id: 7 }), 200, '{"status":"cancelled","id":7}'],
  valueWithNumericStatus: [() => ({ status: 404, name: "Ada" }), 200, '{"status":404,"name":"Ada"}'],
  list: [() => [1, 2], 200, "[1,2]"],
  nullValue: [() => null, 200, "null"],
  response: [
    () => new Response("hello", { status: 201, headers: { "Content-Type": "text/plain" } }),
    201,
    "hello",
  ],
  textResponse: [() => new Response("hello"), 200, "hello"],
  fixedResponse: [() => Response.redirect("https://example.org/", 303), 303, ""],
  errorByName: [() => new ApiError("notFound", "No."), 404, '{"error":40400,"message":"No."}'],
  errorByNumber: [() => new ApiError(40400, "No."), 404, '{"error":40400,"message":"No."}'],
  errorByStatus: [() => new ApiError(404, "No."), 404, '{"error":40400,"message":"No."}'],
  errorOfOnesOwn: [() => new ApiError(409, "Taken."), 409, '{"error":40900,"message":"Taken."}'],
  thrownError: [
    () => {
      throw new ApiError(40901, "Taken.");
    },
    409,
    '{"error":40901,"message":"Taken."}',
  ],
};

/** What a handler does that is no response, and what the log says of it. */
const failures: Readonly<Record<string, readonly [handle: Handle, logged: string]>> = {
  nothing: [() => undefined as never, "returned undefined"],
  aFunction: [() => (() => 1) as never, "returned function"],
  aMap: [() => new Map([["a", 1]]) as never, "returned Map"],
  aMapInAReply: [() => ({ status: 201, json: new Map([["a", 1]]) }), "returned Map"],
  bytes: [() => new Uint8Array([1]) as never, "returned Uint8Array"],
  aCycle: [
    () => {
      const cycle: Record<string, unknown> = {};
      cycle.self = cycle;
      return cycle;
    },
    "cyclic structure",
  ],
  noStatus: [() => ({ status: 700, json: 1 }), "status"],
  noHeader: [() => ({ status: 200, json: 1, headers: { "X-A": "a\nb" } }), "X-A"],
  noErrorHeader: [() => new ApiError("notFound", "No.", { allow: "a\nb" }), "Allow"],
  unknownNumber: [() => new ApiError(7, "No."), "7 is no error"],
  unknownName: [() => new ApiError("gone" as never, "No."), "gone is no error"],
  noError: [() => Response.error(), "status"],
  exception: [
    () => {
      throw new Error("of the author");
    },
    "of the author",
  ],
  text: [
    () => {
      throw "only a text";
    },
    "only a text",
  ],
  wrongSql: [({ store: { read } }) => read.query("SELECT names FROM plants"), "SELECT names FROM plants"],
  wrongValues: [({ store: { read } }) => read.query("SELECT $1 AS a, $2 AS b", [1]), "$2 AS b"],
  writingSql: [({ store: { read } }) => read.query("DELETE FROM plants"), "DELETE FROM plants"],
};

const operations: Operation[] = Object.entries({ ...outcomes, ...failures }).map(([name, [handle]]) =>
  ownOperation(name, handle),
);

test("a handler that never responds is an exception after a time", async () => {
  expect(await settled(runHandler(() => new Promise(() => undefined), 1))).toThrow("has not responded for");
});

describe.each(engines)("on $name", ({ createTestStore }) => {
  const resources = new AsyncDisposableStack();
  let server: InProcessServer;
  let token: string;

  beforeAll(async () => {
    const { database } = resources.use(await createTestStore());
    server = resources.use(await startInProcess({ database, operations }));
    token = await server.createToken();
  });
  afterAll(() => resources.disposeAsync());

  async function call(name: string) {
    const options = { method: "POST", headers: { Authorization: `Bearer ${token}` } };
    const response = await fetch(`${server.url}/${name}`, { ...options, redirect: "manual" });
    return {
      status: response.status,
      body: await response.text(),
      type: response.headers.get("content-type"),
    };
  }

  test.each(Object.entries(outcomes))("%s is sent", async (name, [, status, body]) => {
    expect(await call(name)).toMatchObject({ status, body });
  });

  test("a text is sent with the type that it has without a header field", async () => {
    expect((await call("textResponse")).type).toBe("text/plain;charset=utf-8");
  });

  test("errors of one's own are counted and logged by their numbers", async () => {
    await call("errorOfOnesOwn");
    expect(await (await fetch(`${server.adminUrl}/metrics`)).text()).toContain(
      'plantstore_errors_total{error="40900"}',
    );
    const results = server.events.map((event) => event.kind === "requestCompleted" && event.request.result);
    expect(results).toContain(40_900);
  });

  test.each(Object.entries(failures))("%s is 500, and the log says why", async (name, [, logged]) => {
    const before = server.events.length;
    const { status, body } = await call(name);
    expect({ status, body: JSON.parse(body) }).toEqual({
      status: 500,
      body: { error: 50_000, message: "Internal error; the server's log has the details." },
    });
    const failed = server.events
      .slice(before)
      .find((event): event is ServerEvent & { kind: "internalError" } => event.kind === "internalError");
    expect(String((failed?.error as Error)?.message ?? failed?.error)).toContain(logged);
  });
});
