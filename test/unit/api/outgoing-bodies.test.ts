// Response bodies that are sent as fast as they are read, within limits of memory and time.

import { afterAll, expect, test } from "bun:test";
import { OutgoingBodies, pieceBytes } from "../../../src/api/outgoing-bodies.ts";
import { RawConnection } from "../../support/raw-connection.ts";

const content = new Uint8Array(20_000_000).map((_, index) => index % 251);

let outgoing = new OutgoingBodies({ bytesMax: 1, sendMsMax: 60_000 });
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: () => {
    const body = outgoing.shared(content);
    return body === undefined ? new Response(null, { status: 503 }) : new Response(body);
  },
});
afterAll(() => server.stop(true));

async function stuckReader(): Promise<RawConnection> {
  const connection = await RawConnection.open(server.url.href);
  connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until((received) => (received.length > 0 ? true : undefined));
  connection.pause();
  return connection;
}

test("a body is sent completely, and its memory is released afterwards", async () => {
  outgoing = new OutgoingBodies({ bytesMax: pieceBytes, sendMsMax: 60_000 });
  for (let time = 1; time <= 3; time++) {
    const bytes = await (await fetch(server.url)).bytes();
    expect(Buffer.compare(bytes, content)).toBe(0);
  }
});

test("at the memory limit no stream is created, until a client has left", async () => {
  outgoing = new OutgoingBodies({ bytesMax: 2 * pieceBytes, sendMsMax: 60_000 });
  const readers = [await stuckReader(), await stuckReader()];
  expect((await fetch(server.url)).status).toBe(503);
  readers[0]?.terminate();
  while ((await fetch(server.url)).status !== 200);
  readers[1]?.terminate();
});

test("a body over the limit is sent while there is no other", () => {
  const bodies = new OutgoingBodies({ bytesMax: 1_000, sendMsMax: 60_000 });
  expect(bodies.owned(new Uint8Array(2_000))).toBeDefined();
  expect(bodies.owned(new Uint8Array(1))).toBeUndefined();
});

test("a body that is read too slowly is aborted, and does not look complete", async () => {
  outgoing = new OutgoingBodies({ bytesMax: pieceBytes, sendMsMax: 300 });
  const reader = await stuckReader();
  // Its memory is released though the client is still connected.
  while ((await fetch(server.url, { method: "GET" })).status !== 200);
  reader.resume();
  const received = await reader.closed;
  expect(received.length).toBeLessThan(content.length);
  expect(received).not.toEndWith("0\r\n\r\n");
});

test("a body whose source fails is aborted, and its memory is released", async () => {
  const bodies = new OutgoingBodies({ bytesMax: 1, sendMsMax: 60_000 });
  const failing = async function* () {
    yield new Uint8Array(1);
    throw new Error("the store is away");
  };
  for (let time = 1; time <= 2; time++) {
    const stream = bodies.stream(failing(), 1);
    expect(stream).toBeDefined();
    expect(async () => await new Response(stream).bytes()).toThrow("the store is away");
    await Bun.sleep(0);
  }
});
