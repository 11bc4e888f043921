// Response streams: complete bodies, bounded memory, and an abort of slow clients.

import { afterAll, expect, test } from "bun:test";
import { pieceBytes, ResponseStreams } from "../../../src/console/response-streams.ts";
import { eventually, nextTurn } from "../../support/eventually.ts";
import { RawConnection } from "../../support/raw-connection.ts";

const content = new Uint8Array(20_000_000).map((_, index) => index % 251);

/** The content, which all responses share. */
function* pieces(): Generator<Uint8Array> {
  for (let start = 0; start < content.length; start += pieceBytes)
    yield content.subarray(start, start + pieceBytes);
}

let streams = new ResponseStreams({ bytesMax: 1, sendMsMax: 60_000 });
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: () => {
    const body = streams.stream(pieces(), pieceBytes);
    return body === undefined ? new Response(null, { status: 503 }) : new Response(body);
  },
});
afterAll(() => server.stop(true));

async function openStuckClient(): Promise<RawConnection> {
  const connection = await RawConnection.open(server.url.href);
  connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until((received) => (received.length > 0 ? true : undefined));
  connection.pause();
  return connection;
}

/** Waits until the memory of another response is released. */
async function hasRoom(): Promise<void> {
  await eventually(
    "a response with a body",
    async () => (await fetch(server.url)).status,
    (status) => status === 200,
  );
}

test("a body is sent in full, and its memory is released afterwards", async () => {
  streams = new ResponseStreams({ bytesMax: pieceBytes, sendMsMax: 60_000 });
  for (let time = 1; time <= 3; time++) {
    const bytes = await (await fetch(server.url)).bytes();
    expect(Buffer.compare(bytes, content)).toBe(0);
  }
});

test("over the bound there is no stream until a client has disconnected", async () => {
  streams = new ResponseStreams({ bytesMax: 2 * pieceBytes, sendMsMax: 60_000 });
  const clients = [await openStuckClient(), await openStuckClient()];
  expect((await fetch(server.url)).status).toBe(503);
  clients[0]?.terminate();
  await hasRoom();
  clients[1]?.terminate();
});

test("a single body may be larger than the bound", () => {
  const streams = new ResponseStreams({ bytesMax: 1_000, sendMsMax: 60_000 });
  expect(streams.streamOwned(new Uint8Array(2_000))).toBeDefined();
  expect(streams.streamOwned(new Uint8Array(1))).toBeUndefined();
});

test("a body that is read too slowly is aborted, and does not end as a complete one does", async () => {
  streams = new ResponseStreams({ bytesMax: pieceBytes, sendMsMax: 300 });
  const client = await openStuckClient();
  // Its memory is released, although the client is still connected.
  await hasRoom();
  client.resume();
  const received = await client.closed;
  expect(received.length).toBeLessThan(content.length);
  expect(received).not.toEndWith("0\r\n\r\n");
});

test("a body whose source fails is aborted, and its memory is released", async () => {
  const streams = new ResponseStreams({ bytesMax: 1, sendMsMax: 60_000 });
  const failing = async function* () {
    yield new Uint8Array(1);
    throw new Error("the store is unreachable");
  };
  for (let time = 1; time <= 2; time++) {
    const stream = streams.stream(failing(), 1);
    expect(stream).toBeDefined();
    expect(async () => await new Response(stream).bytes()).toThrow("the store is unreachable");
    await nextTurn();
  }
});
