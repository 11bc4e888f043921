// Where messages start and end in a stream of bytes, however they are split.

import { expect, test } from "bun:test";
import {
  decodeChunked,
  parseRequestHead,
  parseResponseHead,
  RequestReader,
  ResponseReader,
} from "../../../src/sandbox/http-framing.ts";

const get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
const withLength = "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
const withEqualLengths = "POST /b HTTP/1.1\r\ncontent-length: 3\r\nContent-Length: 3\r\n\r\nabc";
const chunked =
  "POST /c HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
const withTrailers =
  "POST /d HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n000\r\nX: y\r\nZ: \r\n\r\n";

/** The messages of a stream that arrives in chunks, and where the reader is in the last one. */
function readRequests(chunks: readonly Buffer[]): { messages: string[]; position: string } {
  const messages: string[] = [""];
  let reader = new RequestReader();
  for (const chunk of chunks) {
    let at = 0;
    while (at < chunk.length) {
      if (reader.position === "complete") {
        reader = new RequestReader();
        messages.push("");
      }
      const end = reader.read(chunk, at);
      messages[messages.length - 1] += chunk.toString("latin1", at, end);
      at = end;
    }
  }
  return { messages, position: reader.position };
}

test("pipelined requests are told apart, split at every byte", () => {
  const requests = [get, withLength, chunked, withTrailers, withEqualLengths, get];
  const bytes = Buffer.from(requests.join(""), "latin1");
  const expected = { messages: requests, position: "complete" };
  expect(readRequests([bytes])).toEqual(expected);
  for (let at = 1; at < bytes.length; at++)
    expect(readRequests([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
  expect(readRequests(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(expected);
});

test("empty lines before a request belong to it", () => {
  const bytes = Buffer.from(`\r\n\r\n${get}`);
  for (let at = 0; at < bytes.length; at++)
    expect(readRequests([bytes.subarray(0, at), bytes.subarray(at)]).messages).toEqual([`\r\n\r\n${get}`]);
});

test.each([
  ["both Content-Length and Transfer-Encoding", "Content-Length: 3\r\nTransfer-Encoding: chunked"],
  ["two lengths", "Content-Length: 3\r\nContent-Length: 4"],
  ["a list of lengths", "Content-Length: 3, 3"],
  ["a signed length", "Content-Length: +3"],
  ["another coding", "Transfer-Encoding: gzip, chunked"],
])("a request with %s has no known end: all that follows belongs to it", (_, fields) => {
  const bytes = `POST / HTTP/1.1\r\n${fields}\r\n\r\nabc${get}`;
  expect(readRequests([Buffer.from(bytes)]).messages).toEqual([bytes]);
});

test.each([
  ["another version", "GET / HTTP/2.0\r\n\r\n"],
  ["a space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n"],
  ["a folded line", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n"],
  ["two spaces", "GET  / HTTP/1.1\r\n\r\n"],
  ["a broken chunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"],
  [
    "a chunk that is longer than its size",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
  ],
  ["a head that is too long", `GET / HTTP/1.1\r\nA: ${"b".repeat(70_000)}\r\n\r\n`],
])("from %s on, bytes are not HTTP", (_, bytes) => {
  const read = readRequests([Buffer.from(bytes + get)]);
  expect(read).toEqual({ messages: [bytes + get], position: "opaque" });
});

test("a head is parsed to its names and values, without the blanks around these", () => {
  const head = parseRequestHead("POST /a?b HTTP/1.0\r\nHost:x\r\nEmpty:\r\nA-b: \t c d\t \r\n\r\n");
  expect(head).toEqual({
    method: "POST",
    target: "/a?b",
    version: "HTTP/1.0",
    headers: [
      ["Host", "x"],
      ["Empty", ""],
      ["A-b", "c d"],
    ],
  });
  expect(parseResponseHead("HTTP/1.1 204 \r\n\r\n")).toEqual({ status: 204, headers: [] });
  expect(parseResponseHead("HTTP/1.1 431\r\nA: b\r\n\r\n")).toEqual({ status: 431, headers: [["A", "b"]] });
  expect(parseResponseHead("HTTP/1.1 20 OK\r\n\r\n")).toBeUndefined();
});

test("blanks in a value take linear time", () => {
  const value = `a${" ".repeat(60_000)}b`;
  expect(parseRequestHead(`GET / HTTP/1.1\r\nA: ${value}${" ".repeat(1_000)}\r\n\r\n`)?.headers).toEqual([
    ["A", value],
  ]);
});

test.each([
  ["200 with a length", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "complete"],
  ["200 to HEAD", "HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", "complete"],
  ["204", "OPTIONS", "HTTP/1.1 204 No Content\r\n\r\n", "complete"],
  ["304", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "complete"],
  ["100", "POST", "HTTP/1.1 100 Continue\r\n\r\n", "complete"],
  ["chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "complete"],
])("the response %s ends with its last byte", (_, method, text, position) => {
  const bytes = Buffer.from(`${text}HTTP/1.1 200 OK\r\n`);
  const reader = new ResponseReader(method);
  let at = 0;
  while (reader.position !== "complete") at = reader.read(bytes, at);
  expect(bytes.toString("latin1", 0, at)).toBe(text);
  expect(reader.position).toBe(position as "complete");
  expect(reader.isInterim).toBe(text.includes("100"));
});

test.each([
  ["without a length", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nabc"],
  ["of a tunnel", "HTTP/1.1 101 Switching Protocols\r\n\r\nabc"],
])("a response %s ends with the connection", (_, text) => {
  const reader = new ResponseReader("GET");
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at = reader.read(bytes, at);
  expect(reader.endsWithConnection).toBe(true);
});

test("the byte that may complete a head is known before it arrives", () => {
  const reader = new RequestReader();
  reader.read(Buffer.from(get.slice(0, -1)), 0);
  expect(reader.isBeforeLastByteOfHead).toBe(true);
  reader.read(Buffer.from("x"), 0);
  expect(reader.isBeforeLastByteOfHead).toBe(false);
});

test("the content of a chunked body", () => {
  const decode = (text: string) => decodeChunked(Buffer.from(text)).toString();
  expect(decode("3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n")).toBe("abc0123456789");
  expect(decode("3\r\nab")).toBe("ab");
  expect(decode("")).toBe("");
});
