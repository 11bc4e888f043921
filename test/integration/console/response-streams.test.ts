// Response streams: complete bodies, and bounded memory.

import { expect, test } from "bun:test";
import { ResponseStreams } from "../../../src/console/response-streams.ts";
import { eventually, nextTurn } from "../../support/eventually.ts";
import { RawConnection } from "../../support/raw-connection.ts";

const pieceBytes = 64 * 2 ** 10;
const piecesCount = 300;

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < piecesCount; index++) yield new Uint8Array(pieceBytes).fill(index);
}

test("over the bound there is no stream until a client has disconnected or read its body", async () => {
  const streams = new ResponseStreams(2 * pieceBytes);
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: () => {
      const body = streams.stream(pieces(), pieceBytes);
      return body === undefined ? new Response(null, { status: 503 }) : new Response(body);
    },
  });
  const clients: RawConnection[] = [];
  for (let count = 1; count <= 2; count++) {
    const connection = await RawConnection.open(server.url.href);
    connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await connection.until((received) => (received.length > 0 ? true : undefined));
    connection.pause();
    clients.push(connection);
  }
  expect((await fetch(server.url)).status).toBe(503);
  clients[0]?.terminate();
  const response = await eventually(
    "room for a body",
    () => fetch(server.url),
    ({ status }) => status === 200,
  );
  const bytes = await response.bytes();
  expect(bytes.length).toBe(piecesCount * pieceBytes);
  expect(bytes.every((byte, at) => byte === Math.floor(at / pieceBytes) % 256)).toBe(true);
  expect((await fetch(server.url)).status).toBe(200);
  clients[1]?.terminate();
});

test("a single body may be larger than the bound", () => {
  const streams = new ResponseStreams(1_000);
  expect(streams.stream(pieces(), 2_000)).toBeDefined();
  expect(streams.stream(pieces(), 1)).toBeUndefined();
});

test("a body whose source fails is aborted, and its memory is released", async () => {
  const streams = new ResponseStreams(1);
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
