// What Bun's HTTP parser decides about the framing of requests, as docs/decisions.md documents it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { plantJson, type Target } from "../../../support/http.ts";
import { startInProcess } from "../../../support/in-process-server.ts";
import { createHead, RawConnection, rawAnswers, sendRaw } from "../../../support/raw-connection.ts";

const resources = new AsyncDisposableStack();
let target: Target;
beforeAll(async () => {
  target = await resources.use(await startInProcess()).target();
});
afterAll(() => resources.disposeAsync());

test("Expect: 100-continue is answered 100 in HTTP/1.0 as in HTTP/1.1, and the create succeeds", async () => {
  for (const [id, version] of [
    [10n, "1.0"],
    [11n, "1.1"],
  ] as const) {
    const body = plantJson(id, "Monstera");
    const framing = `Content-Length: ${body.length}\r\nExpect: 100-continue\r\nConnection: close`;
    const connection = await RawConnection.open(target.url);
    connection.write(createHead(target, framing).replace("HTTP/1.1", `HTTP/${version}`));
    await connection.until((received) => (received.endsWith("\r\n\r\n") ? received : undefined));
    connection.write(body);
    const received = await connection.closed;
    expect(received).toStartWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n");
    expect(received).toEndWith('{"name":"Monstera"}');
  }
});

/** The status of each response, and its error code. */
function outcomes(received: string): unknown[] {
  const { answers, rest } = rawAnswers(received);
  expect(rest).toBe("");
  return answers.map(({ status, body }) => [status, body === "" ? "bare" : JSON.parse(body).error]);
}

const unauthenticated = "POST /plants HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

test("an early 401 to a broken chunked body is followed by a bare 400, and the connection is closed", async () => {
  const received = await sendRaw(target.url, `${unauthenticated}not a chunk\r\n`);
  expect(outcomes(received)).toEqual([
    [401, 40100],
    [400, "bare"],
  ]);
});

test("the same where the body breaks after the 401; one that breaks before a response gets only the bare 400", async () => {
  const head = createHead({ token: "unknown" }, "Transfer-Encoding: chunked");
  const connection = await RawConnection.open(target.url);
  connection.write(head);
  await connection.until((received) => (rawAnswers(received).answers.length === 1 ? received : undefined));
  connection.write("not a chunk\r\n");
  expect(outcomes(await connection.closed)).toEqual([
    [401, 40101],
    [400, "bare"],
  ]);
  // An unknown token is looked up in the store, so the parser reads the whole packet first.
  expect(outcomes(await sendRaw(target.url, `${head}not a chunk\r\n`))).toEqual([[400, "bare"]]);
});
