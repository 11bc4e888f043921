// The memory of bodies and the queue are given back after whatever ends a create, and after clients
// of other operations that are slow or leave.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { contractFile, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { onlyCollection } from "../../support/contracts.ts";
import { eventually } from "../../support/eventually.ts";
import { failing } from "../../support/failing.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process-server.ts";
import { ownOperation } from "../../support/own-operation.ts";
import { RawConnection } from "../../support/raw-connection.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { openedStore } from "../../support/stored-plants.ts";

const id = "0190a8c0-0000-7000-8000-000000000001";
const limits = { bodyBytesMax: 100_000, inFlightBytesMax: 30_000_000, arrivalSecondsMax: 1 };
/** Long enough to be held as memory. */
const long = "x".repeat(50_000);
const member = { name: "Ada", address: { street: long } };

/** A response of more than the kernel's buffers hold. */
const large = ownOperation("large", () => "x".repeat(20_000_000));

describe("memory is given back", () => {
  const resources = new AsyncDisposableStack();
  let server: InProcessServer;
  let token: string;

  beforeAll(async () => {
    const folder = resources.use(new TemporaryFolder());
    const source = { text: await Bun.file(contractFile("members.yaml")).text() };
    const store = await openedStore(`sqlite:${folder.file("members.db")}`, () => undefined, source);
    const operations = [...collectionOperations(onlyCollection(store.contract)), large];
    server = resources.use(await startInProcess({ store, operations, limits }));
    token = await server.createToken();
    expect((await sent("PUT", `/members/${id}`, member)).status).toBe(201);
  });
  afterAll(() => resources.disposeAsync());

  const sent = (method: string, path: string, body: string | object) =>
    sendJson(server.url + path, method, body, tokenHeaders(token));
  const begun = async (method: string, path: string, framing: string, beginning: string) => {
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
  const halves = [
    ["POST", "/members", "Content-Length: 90000", long],
    ["POST", "/members", "Transfer-Encoding: chunked", `c350\r\n${long}`],
    ["PUT", `/members/${id}`, "Content-Length: 90000", long],
    ["PUT", `/members/${id}`, "Transfer-Encoding: chunked", `c350\r\n${long}`],
  ] satisfies [method: string, path: string, framing: string, beginning: string][];

  test("after a success, and after a body that is no JSON or is not what is described", async () => {
    for (const [body, status] of [
      [member, 201],
      [long, 400],
      [{ ...member, name: null }, 400],
    ] as const)
      expect((await sent("POST", "/members", body)).status).toBe(status);
    await givenBack();
  });

  test.each([
    ["Content-Length: 100001", ""],
    ["Transfer-Encoding: chunked", `186a1\r\n${"x".repeat(100_001)}\r\n`],
  ])("after a body that is too large: %s", async (framing, body) => {
    const connection = await begun("POST", "/members", framing, body);
    await connection.until((received) => (received.includes("HTTP/1.1 413") ? true : undefined));
    connection.terminate();
    await givenBack();
  });

  test.each(halves)(
    "after a client that leaves in the middle of its body: %s %s, %s",
    async (method, path, framing, beginning) => {
      const connection = await begun(method, path, framing, beginning);
      await eventually("the body has begun", async () => (await held()) > 0);
      connection.terminate();
      await givenBack();
    },
  );

  test.each([
    [503, new OperatorError("the disk is gone")],
    [500, new TypeError("a bug")],
  ])("after a failure of the store: %d", async (status, error) => {
    using _ = failing(server.store, "create", error);
    expect((await sent("POST", "/members", member)).status).toBe(status);
    await givenBack();
  });

  test("after bodies that are too slow", async () => {
    const slow = halves.map(([method, path, framing, beginning]) => begun(method, path, framing, beginning));
    for (const connection of await Promise.all(slow))
      expect(await connection.closed).toStartWith("HTTP/1.1 408");
    await givenBack();
  });

  test("after a response that is received, and after a client that leaves in the middle of it", async () => {
    const connection = await begun("POST", "/large", "Connection: close", "");
    connection.pause();
    await eventually("the response is held", async () => (await held()) >= 20_000_000);
    connection.terminate();
    await givenBack();
    const whole = await fetch(`${server.url}/large`, { method: "POST", headers: tokenHeaders(token) });
    expect(await whole.json()).toHaveLength(20_000_000);
    await givenBack();
  });
});
