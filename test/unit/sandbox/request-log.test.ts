// The log of requests: its numbers, its bounds, and those that wait for the next request.

import { expect, test } from "bun:test";
import { requestsPart } from "../../../src/sandbox/control-requests.ts";
import {
  type LoggedRequest,
  logBytesMax,
  RequestLog,
  requestsMax,
  wholeBody,
} from "../../../src/sandbox/request-log.ts";
import { nextTurn } from "../../support/eventually.ts";

const request = (body = Buffer.from("{}")): Omit<LoggedRequest, "number"> => ({
  connection: 1,
  startedAt: 0,
  durationMs: 1,
  forced: undefined,
  ended: "complete",
  request: { method: "POST", target: "/plants", version: "HTTP/1.1", headers: [], body: wholeBody(body) },
  response: null,
});

const numbers = (log: RequestLog, after = 0) => Array.from(log.after(after), ({ number }) => number);

test("past 10,000 requests the oldest are dropped", () => {
  const log = new RequestLog();
  for (let count = 0; count < requestsMax + 5; count++) log.add(request());
  expect([log.first, log.last, numbers(log).length]).toEqual([6, requestsMax + 5, requestsMax]);
});

test("past 64 MiB the oldest are dropped", () => {
  const log = new RequestLog();
  const mebibyte = Buffer.alloc(2 ** 20);
  for (let count = 0; count < 70; count++) log.add(request(mebibyte));
  // The heads take some bytes, too.
  expect([log.first, log.last]).toEqual([70 - logBytesMax / 2 ** 20 + 2, 70]);
  log.clear();
  for (let count = 0; count < 63; count++) log.add(request(mebibyte));
  expect(log.first).toBe(71);
});

test("waiting ends with the next request, also after the log was emptied, or with the signal", async () => {
  const log = new RequestLog();
  log.add(request());
  log.clear();
  const never = new AbortController().signal;
  let resolved = 0;
  const waiting = [log.waitFor(0, never), log.waitFor(1, never)].map((each) => each.then(() => resolved++));
  const late = log.waitFor(2, never);
  await nextTurn();
  expect(resolved).toBe(0);
  log.add(request());
  await Promise.all(waiting);
  expect(numbers(log)).toEqual([2]);
  await log.waitFor(0, never);
  const aborting = new AbortController();
  const aborted = log.waitFor(2, aborting.signal);
  aborting.abort();
  await aborted;
  await log.waitFor(2, aborting.signal);
  log.add(request());
  await late;
});

test("control returns 8 MiB of them at once", async () => {
  const log = new RequestLog();
  for (let count = 0; count < 10; count++) log.add(request(Buffer.alloc(2 ** 20)));
  const list = requestsPart(log, () => undefined).routes["GET /sandbox/requests"];
  const page = await list?.({
    parameters: {},
    query: { after: 0n, limit: 100n, wait: 0n },
    signal: new AbortController().signal,
    body: () => Promise.reject(new Error("no body is described")),
  });
  expect(await page?.json()).toMatchObject({ requests: { length: 8 }, next: 8, dropped: 0 });
});
