// The memory of bodies and the queue are given back after whatever ends a request, on every way that
// a request takes.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { defineOperation } from "../../../src/plants/define-operation.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { contractFile, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { onlyCollection } from "../../support/contracts.ts";
import { eventually } from "../../support/eventually.ts";
import { failing } from "../../support/failing.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process-server.ts";
import { RawConnection } from "../../support/raw-connection.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { openedStore } from "../../support/stored-plants.ts";

const id = "0190a8c0-0000-7000-8000-000000000001";
const limits = { bodyBytesMax: 100_000, inFlightBytesMax: 30_000_000, arrivalSecondsMax: 1 };
/** Long enough to be held as memory. */
const long = "x".repeat(50_000);
const member = { name: "Ada", address: { street: long } };

const own = defineOperation({
  operationId: "own",
  method: "POST",
  path: "/own",
  summary: "Fails by its body",
  responses: { 200: { description: "It." } },
  body: { schema: {}, parse: (bytes) => JSON.parse(Buffer.from(bytes).toString()) },
  async handle({ body, store }) {
    if (body.name === null) throw new TypeError("it has no name");
    await store.read.query("SELECT 1 AS one", []);
    return body;
  },
});
const large = defineOperation({
  operationId: "large",
  method: "GET",
  path: "/large",
  summary: "More than the kernel's buffers hold",
  responses: { 200: { description: "It." } },
  handle: () => ({ status: 200, jsonText: JSON.stringify("x".repeat(20_000_000)) }),
});

describe("memory is given back", () => {
  const resources = new AsyncDisposableStack();
  let server: InProcessServer;
  let token: string;

  beforeAll(async () => {
    const folder = resources.use(new TemporaryFolder());
    const source = { text: await Bun.file(contractFile("members.yaml")).text() };
    const store = await openedStore(`sqlite:${folder.file("members.db")}`, () => undefined, source);
    const operations = [...collectionOperations(onlyCollection(store.contract)), own, large];
    server = resources.use(await startInProcess({ store, operations, limits }));
    token = await server.createToken();
    expect((await sent("PUT", `/members/${id}`, member)).status).toBe(201);
  });
  afterAll(() => resources.disposeAsync());

  const sent = (method: string, path: string, body: string | object) =>
    sendJson(server.url + path, method, body, tokenHeaders(token));
  const begun = async (method: string, path: string, [framing, beginning]: readonly [string, string]) => {
    const connection = await RawConnection.open(server.url);
    const fields = `Host: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${framing}`;
    connection.write(`${method} ${path} HTTP/1.1\r\n${fields}\r\n\r\n${beginning}`);
    return connection;
  };
  const held = () => server.metric("plantstore_body_bytes");
  const givenBack = () =>
    eventually(
      "no body in memory, and none in the queue",
      async () => (await fetch(`${server.adminUrl}/metrics`)).text(),
      (text) => /^plantstore_body_bytes 0$/m.test(text) && /^plantstore_queue_plants 0$/m.test(text),
    );
  const ways = [
    ["POST", "/members", 201],
    ["PUT", `/members/${id}`, 200],
    ["PATCH", `/members/${id}`, 200],
    ["POST", "/own", 200],
  ] as const;
  const halves = [
    ["Content-Length: 90000", long],
    ["Transfer-Encoding: chunked", `c350\r\n${long}`],
  ] as const;

  describe.each(ways)("%s %s", (method, path, success) => {
    const store = path === "/members" ? ("create" as const) : ("edit" as const);

    test("after a success", async () => {
      // Otherwise a change would be none.
      const body = { ...member, name: crypto.randomUUID() };
      expect((await sent(method, path, body)).status).toBe(success);
      await givenBack();
    });

    test("after a body that is no JSON, or is not what is described", async () => {
      for (const body of [long, { name: null, address: member.address }])
        expect((await sent(method, path, body)).status).toBe(path === "/own" ? 500 : 400);
      await givenBack();
    });

    test.each([
      ["Content-Length: 100001", ""],
      ["Transfer-Encoding: chunked", `186a1\r\n${"x".repeat(100_001)}\r\n`],
    ])("after a body that is too large: %s", async (framing, body) => {
      const connection = await begun(method, path, [framing, body]);
      await connection.until((received) => (received.includes("HTTP/1.1 413") ? true : undefined));
      connection.terminate();
      await givenBack();
    });

    test.each(halves)(
      "after a client that leaves in the middle of its body: %s",
      async (framing, beginning) => {
        const connection = await begun(method, path, [framing, beginning]);
        await eventually("the body has begun", async () => (await held()) > 0);
        connection.terminate();
        await givenBack();
      },
    );

    if (path !== "/own")
      test.each([
        [503, new OperatorError("the disk is gone")],
        [500, new TypeError("a bug")],
      ])("after a failure of the store: %d", async (status, error) => {
        using _ = failing(server.store, store, error);
        const body = { ...member, name: crypto.randomUUID() };
        expect((await sent(method, path, body)).status).toBe(status);
        await givenBack();
      });
  });

  test("after bodies that are too slow", async () => {
    const slow = ways.flatMap(([method, path]) => halves.map((half) => begun(method, path, half)));
    for (const connection of await Promise.all(slow))
      expect(await connection.closed).toStartWith("HTTP/1.1 408");
    await givenBack();
  });

  test("after a response that is received, and after a client that leaves in the middle of it", async () => {
    const connection = await begun("GET", "/large", ["Connection: close", ""]);
    await connection.until((received) => (received === "" ? undefined : true));
    expect(await held()).toBeGreaterThanOrEqual(20_000_000);
    connection.terminate();
    await givenBack();
    expect(await (await fetch(`${server.url}/large`, { headers: tokenHeaders(token) })).json()).toHaveLength(
      20_000_000,
    );
    await givenBack();
  });
});
