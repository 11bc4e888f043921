// The newest requests: as many as the ring has, newest first.

import { expect, test } from "bun:test";
import type { RequestRecord } from "../../../src/base/server-event.ts";
import { RecentRequests } from "../../../src/console/reads/recent-requests.ts";

function record(requestId: string, more: Partial<RequestRecord> = {}): RequestRecord {
  const request = { requestId, traceparent: null, method: "POST", path: "/plants", caller: "ci" };
  return { ...request, startedAt: 0, endedAt: 1, status: 200, result: "created", ...more };
}

function add(recent: RecentRequests, ...requests: readonly RequestRecord[]): void {
  for (const request of requests) recent.handle({ kind: "requestCompleted", request });
}

/** The requests that are listed, without parameters. */
function list(recent: RecentRequests, parameters: Record<string, string> = {}) {
  const { requests, counts } = recent.list(new URLSearchParams(parameters));
  return { ids: requests.map(({ requestId }) => requestId), counts };
}

test("the newest are stored, newest first", () => {
  const recent = new RecentRequests(3, () => 0);
  expect(list(recent)).toEqual({ ids: [], counts: {} });
  add(recent, record("1"), record("2"));
  recent.handle({ kind: "notice", message: "stopped", fields: {} });
  expect(list(recent)).toMatchObject({ ids: ["2", "1"] });
  add(recent, record("3"), record("4"), record("5"), record("6"), record("7"));
  expect(list(recent)).toMatchObject({ ids: ["7", "6", "5"], counts: { created: 3 } });
  expect(list(recent, { count: "1" })).toMatchObject({ ids: ["7"], counts: { created: 3 } });
});

test("from 1 to 2,000 are listed", () => {
  const recent = new RecentRequests(2_001, () => 0);
  add(recent, ...Array.from({ length: 2_001 }, (_, id) => record(`${id}`)));
  for (const parameters of [{}, { count: "2000" }])
    expect(list(recent, parameters as Record<string, string>).ids).toHaveLength(2_000);
  for (const count of ["0", "2001", "x"]) expect(() => list(recent, { count })).toThrow("from 1 to 2000");
});

test("successes do not push errors out, which are in their order", () => {
  const recent = new RecentRequests(2, () => 0);
  const error = (id: string, endedAt: number) => record(id, { status: 401, result: "invalidToken", endedAt });
  add(recent, error("1", 1), error("2", 2), record("3"));
  add(recent, error("4", 4), record("5"), record("6"));
  expect(list(recent)).toMatchObject({ ids: ["6", "5", "4", "2"], counts: { created: 2, 40101: 2 } });
  expect(list(recent, { code: "40101" }).ids).toEqual(["4", "2"]);
});

test("long texts are shortened", () => {
  const recent = new RecentRequests(3, () => 0);
  const [path, message, caller] = [`/${"x".repeat(9_999)}`, "y".repeat(9_999), "z".repeat(9_999)];
  add(recent, record("1", { path, message, caller }));
  const [listed] = recent.list(new URLSearchParams()).requests;
  expect([listed?.path, listed?.message, listed?.token].map((text) => text?.length)).toEqual([301, 500, 500]);
});
