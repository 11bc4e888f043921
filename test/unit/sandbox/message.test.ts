// The ends of HTTP messages, and their parts.

import { describe, expect, test } from "bun:test";
import {
  ChunkReader,
  findInterimEnd,
  findResponseEnd,
  framingOf,
  parseRequestHead,
  parseResponseHead,
} from "../../../src/sandbox/message.ts";

describe("a head", () => {
  test("is parsed with the empty lines before it, and rejected where a line is not a field", () => {
    expect(parseRequestHead(Buffer.from("\r\n\r\nPOST /a?b HTTP/1.0\r\nA: b\r\nA: c\r\n\r\n"))).toEqual({
      method: "POST",
      target: "/a?b",
      version: "HTTP/1.0",
      headers: [
        ["A", "b"],
        ["A", "c"],
      ],
    });
    for (const head of ["GET / HTTP/1.1\r\nA : b\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "x\r\n\r\n"])
      expect(parseRequestHead(Buffer.from(head))).toBeUndefined();
    expect(parseResponseHead(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"))).toEqual({
      status: 204,
      headers: [],
    });
  });

  test("says how the body is framed", () => {
    expect(framingOf(new Headers())).toBe(0);
    expect(framingOf(new Headers({ "Content-Length": "26, 26" }))).toBe(26);
    expect(framingOf(new Headers({ "Transfer-Encoding": "chunked" }))).toBe("chunked");
  });
});

test.each<[string, content: string, end: number | undefined]>([
  ["3\r\nabc\r\n0\r\n\r\n", "abc", 13],
  ["3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nA: b\r\n\r\nrest", "abcd", 29],
  ["A\r\n0123456789\r\n000\r\n\r\n", "0123456789", 22],
  ["3\r\nabc\r\n0\r\nA: b\r\n", "abc", undefined],
  ["3\r\nab", "ab", undefined],
  ["3\r", "", undefined],
  ["x\r\nabc\r\n", "", undefined],
])("chunks %p", (text, content, end) => {
  const bytes = Buffer.from(text);
  for (let at = 0; at <= bytes.length; at++) {
    const reader = new ChunkReader();
    const read = [bytes.subarray(0, at), bytes.subarray(at)].flatMap((part) => reader.read(part));
    expect(Buffer.concat(read).toString()).toBe(content);
    expect(reader.isComplete ? reader.length : undefined).toBe(end);
  }
});

test("a response ends after its length, behind the interim ones", () => {
  const response = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
  const head = Buffer.from(response);
  expect(findResponseEnd(head, "POST")).toBe(head.length + 2);
  expect(findResponseEnd(head, "HEAD")).toBe(head.length);
  expect(findResponseEnd(head.subarray(0, -1), "POST")).toBeUndefined();
  const interim = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
  expect(findResponseEnd(interim, "POST")).toBeUndefined();
  expect(findResponseEnd(Buffer.concat([interim, interim, head]), "POST")).toBe(
    2 * interim.length + head.length + 2,
  );
  expect(findInterimEnd(Buffer.concat([interim, head]))).toBe(interim.length);
  expect(findResponseEnd(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"), "OPTIONS")).toBe(27);
});
