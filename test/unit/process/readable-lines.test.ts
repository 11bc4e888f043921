// The lines of the log for people, without a server.

import { expect, test } from "bun:test";
import type { RequestRecord } from "../../../src/base/server-event.ts";
import type { LogLine } from "../../../src/process/log/log-lines.ts";
import { readableFormat } from "../../../src/process/log/readable-lines.ts";
import { request } from "./request-record.ts";

const time = new Date(2026, 10, 21, 22, 43, 5);

function lineOf(differing: Partial<RequestRecord> = {}, colours = false, suppressed?: number): string {
  return readableFormat(colours).request({ ...request, ...differing }, suppressed, time);
}

function eventLine(line: LogLine, colours = false): string {
  return readableFormat(colours).event(line, time);
}

test("a request is one line: time, request, status, result, duration, token", () => {
  expect(lineOf()).toBe("22:43:05 POST /plants 200 created 33 ms token=ci");
  expect(lineOf({ endedAt: 1.26, caller: "my laptop" }, false, 7)).toBe(
    '22:43:05 POST /plants 200 created 1.3 ms token="my laptop" suppressed=7',
  );
  expect(lineOf({ result: "clientAborted", caller: undefined })).toBe(
    "22:43:05 POST /plants client aborted 33 ms",
  );
});

test("an error has its code and its message in the same line", () => {
  expect(lineOf({ status: 400, result: "conflict", message: "The id 1 already holds\na plant." })).toBe(
    String.raw`22:43:05 POST /plants 400 40009 33 ms token=ci: The id 1 already holds\u000aa plant.`,
  );
});

test("what a client sent cannot move the cursor, colour or reorder a line", () => {
  const hostile = { path: "/\x1b[2J\u202e\x9b", caller: "é\r\n" };
  expect(lineOf(hostile)).toBe(
    "22:43:05 POST /\\u001b[2J\\u202e\\u009b 200 created 33 ms token=é\\u000d\\u000a",
  );
});

test("colours are the status's, and only where they are allowed", () => {
  for (const [status, code] of [
    [200, 32],
    [401, 33],
    [503, 31],
  ] as const)
    expect(lineOf({ status }, true)).toContain(`\x1b[${code}m${status} created\x1b[0m`);
  expect(Bun.stripANSI(lineOf({}, true))).toBe(lineOf());
  expect(eventLine({ level: "warn", message: "slow", fields: {} }, true)).toContain(
    "\x1b[33mwarning: \x1b[0mslow",
  );
});

test("an event has its severity where it is one, its fields, and a stack below it", () => {
  expect(eventLine({ level: "info", message: "stopped", fields: {} })).toBe("22:43:05 stopped");
  const fields = { reason: 'no "disk"', limit: 7, absent: undefined };
  expect(eventLine({ level: "warn", message: "store unavailable", fields })).toBe(
    String.raw`22:43:05 warning: store unavailable reason="no \"disk\"" limit=7`,
  );
  const failed = { requestId: "a-1", error: "x", stack: "Error: x\n    at y" };
  expect(eventLine({ level: "error", message: "internal error", fields: failed }).split("\n")).toEqual([
    "22:43:05 error: internal error requestId=a-1 error=x",
    "  Error: x",
    "      at y",
  ]);
});
