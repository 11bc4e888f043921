// The parser of responses: framing by RFC 9112, however the bytes arrive, and a problem for what is
// not a response.

import { expect, test } from "bun:test";
import { headerOf, parseResponse } from "../../../packages/conformance/src/wire/response-parser.ts";

const bytesOf = (text: string) => Buffer.from(text, "latin1");

/** Parses a text: returns status and body, the problem, or undefined while the parser waits. */
function parse(text: string, { method = "POST", isEnded = true, bodyBytesMax = 1_000 } = {}) {
  const parsed = parseResponse(bytesOf(text), { method, isEnded, bodyBytesMax });
  if (parsed === undefined) return undefined;
  if ("problem" in parsed) return parsed.problem;
  const { status, body } = parsed.part;
  return {
    status,
    body: Buffer.from(body).toString("latin1"),
    isBetween: parsed.end === text.length,
  };
}

test.each([
  [
    "a length",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd",
    { status: 200, body: "abc", isBetween: false },
  ],
  ["the end of the connection", "HTTP/1.0 200 OK\r\n\r\nabc", { status: 200, body: "abc", isBetween: true }],
  [
    "chunks, with an extension and trailers",
    "HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
    { status: 400, body: "abc0123456789", isBetween: true },
  ],
  ["no body", "HTTP/1.1 204 No Content\r\n\r\n", { status: 204, body: "", isBetween: true }],
  ["no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", { status: 200, body: "", isBetween: true }],
  [
    "an interim response before it",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
    { status: 200, body: "a", isBetween: true },
  ],
])("a response delimited by %s is the same, byte by byte", (_, text, expected) => {
  expect(parse(text)).toEqual(expected);
  for (let length = 0; length < text.length; length++) {
    const parsed = parse(text.slice(0, length), { isEnded: false });
    expect(parsed ?? expected).toMatchObject({ status: expected.status, body: expected.body });
  }
});

test("the response to HEAD has no body, whatever its length", () => {
  const text = "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 5\r\n\r\n";
  expect(parse(text, { method: "HEAD", isEnded: false })).toEqual({ status: 405, body: "", isBetween: true });
  expect(parse(text, { isEnded: false })).toBeUndefined();
});

test.each([
  ["nothing", "", "the connection was closed without a response"],
  ["another protocol", "SSH-2.0-OpenSSH\r\n", "does not start with HTTP/1."],
  ["the start of another protocol", "H2", "does not start with HTTP/1."],
  ["a short status", "HTTP/1.1 20 OK\r\n\r\n", "is not a status line"],
  ["a field without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "is not a header field"],
  ["a space before a colon", "HTTP/1.1 200 OK\r\nA : x\r\n\r\n", "is not a header field"],
  [
    "a negative length",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "the Content-Length of the response",
  ],
  [
    "two lengths",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "the Content-Length",
  ],
  [
    "a length and chunks",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "both Transfer-Encoding and Content-Length",
  ],
  [
    "another coding",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "the Transfer-Encoding of the response",
  ],
  [
    "a bad chunk size",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "in place of the size of a chunk",
  ],
  [
    "a chunk that is longer than its size",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    "does not end with CRLF",
  ],
  ["a head cut short", "HTTP/1.1 200 OK\r\nContent-", "closed in the head of the response"],
  [
    "a body cut short",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    "closed in the body of the response 200",
  ],
  ["a long body", `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(1_001)}`, "has more than 1000 bytes"],
  ["a long head", `HTTP/1.1 200 OK\r\nA: ${"x".repeat(70_000)}`, "the head of the response has more than"],
])("%s is a problem", (_, text, problem) => {
  expect(parse(text)).toContain(problem);
});

test("a problem is found before the end of what has none", () => {
  const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const text of [
    "garbage",
    `${chunked}${"1\r\na\r\n".repeat(1_001)}`,
    // A body without chunks, although its head says so.
    `${chunked}{"name":"Monstera"}`,
    `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(1_001)}`,
  ])
    expect(parse(text, { isEnded: false })).toBeString();
});

test.each<[line: string, value: string | undefined]>([
  ["A:x", "x"],
  ["A:", ""],
  ["A: \t c: d\t ", "c: d"],
  ["A: \u00a0x\v", "\u00a0x\v"],
  [" A: folded", undefined],
  [`A:${" ".repeat(30_000)}x${" ".repeat(30_000)}y`, `x${" ".repeat(30_000)}y`],
])("the value of the field line %p", (line, value) => {
  const bytes = bytesOf(`HTTP/1.1 204 No Content\r\n${line}\r\n\r\n`);
  const parsed = parseResponse(bytes, { method: "POST", isEnded: true, bodyBytesMax: 0 });
  expect(parsed && "part" in parsed ? headerOf(parsed.part, "A") : undefined).toBe(value);
});
