// The log without a server: the lines of requests and of events that repeat, on a clock of the
// test.

import { expect, test } from "bun:test";
import type { RequestRecord } from "../../../src/base/server-event.ts";
import { Log, type LogOptions } from "../../../src/process/log/log.ts";
import { logLines } from "../../support/output.ts";
import { request } from "./request-record.ts";

/** A log, its clock, and the lines that it has written. */
function startLog(options: Partial<LogOptions> = {}) {
  const clock = { ms: 0 };
  let text = "";
  const stream = { write: (lines: string) => (text += lines) };
  const log = new Log({
    format: "json",
    colours: false,
    level: "info",
    accessLinesPerSecond: 100,
    now: () => clock.ms,
    output: { stream, end: () => Promise.resolve(true) },
    ...options,
  });
  const logRequest = (differing: Partial<RequestRecord> = {}) =>
    log.handle({ kind: "requestCompleted", request: { ...request, ...differing } });
  return { log, clock, logRequest, lines: () => logLines(text) };
}

test("a request has a line with its id, its token's name, its status, and its result or its error", () => {
  const { logRequest, lines } = startLog();
  logRequest();
  const message = "The id 1 already holds a plant.";
  logRequest({ requestId: "a-2", status: 400, result: "conflict", message, path: `/${"x".repeat(300)}` });
  const common = { level: "info", method: "POST", token: "ci", ms: 33.457, time: expect.any(String) };
  const path = `/${"x".repeat(199)}`;
  expect(lines()).toEqual([
    { ...common, requestId: "a-1", path: "/plants", status: 200, result: "created", msg: "POST /plants 200" },
    { ...common, requestId: "a-2", path, status: 400, error: 40009, message, msg: `POST ${path} 400` },
  ]);
});

test("requests past the limit of lines a second are counted and not logged", () => {
  const { logRequest, lines } = startLog({ accessLinesPerSecond: 2 });
  for (const endedAt of [0, 1, 2, 999, 1_000, 1_001, 1_002]) logRequest({ requestId: `${endedAt}`, endedAt });
  expect(lines().map(({ requestId, suppressed }) => [requestId, suppressed])).toEqual([
    ["0", undefined],
    ["1", undefined],
    ["1000", 2],
    ["1001", undefined],
  ]);
});

test.each([{ accessLinesPerSecond: 0 }, { level: "warn" }] as const)("%p logs no requests", (options) => {
  const { logRequest, lines } = startLog(options);
  logRequest();
  expect(lines()).toEqual([]);
});

test("a warning that repeats is logged once in ten seconds, with the number of the others", () => {
  const { log, clock, lines } = startLog();
  for (clock.ms = 0; clock.ms <= 20_000; clock.ms += 100)
    log.handle({ kind: "storeUnavailable", reason: `${clock.ms}` });
  expect(lines().map(({ reason, suppressed }) => [reason, suppressed])).toEqual([
    ["0", undefined],
    ["10000", 99],
    ["20000", 99],
  ]);
});

test("ten internal errors are logged in ten seconds, and the next one with the number of the others", () => {
  const { log, clock, lines } = startLog();
  const fail = (cause: string) =>
    log.handle({ kind: "internalError", requestId: cause, error: new Error(cause) });
  for (let count = 0; count < 1_000; count++) fail(`${count}`);
  expect(lines().map(({ requestId }) => requestId)).toEqual([..."0123456789"]);
  log.handle({ kind: "storeUnavailable", reason: "the disk is full" });
  expect(lines().at(-1)).toMatchObject({ level: "warn", reason: "the disk is full" });
  clock.ms = 10_000;
  fail("later");
  expect(lines().at(-1)).toMatchObject({ requestId: "later", suppressed: 990 });
});

test("a log of standard error may be ended again, as by each further signal", async () => {
  const { log } = startLog({ output: undefined });
  expect(await Promise.all([log.end(), log.end()])).toEqual([true, true]);
});
