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
  const { requests, total } = recent.list(new URLSearchParams(parameters));
  return { ids: requests.map(({ requestId }) => requestId), total };
}

test("the newest are stored, newest first", () => {
  const recent = new RecentRequests(3, () => 0);
  expect(list(recent)).toEqual({ ids: [], total: 0 });
  add(recent, record("1"), record("2"));
  recent.handle({ kind: "notice", message: "stopped", fields: {} });
  expect(list(recent)).toMatchObject({ ids: ["2", "1"] });
  add(recent, record("3"), record("4"), record("5"), record("6"), record("7"));
  expect(list(recent)).toMatchObject({ ids: ["7", "6", "5"], total: 3 });
  expect(list(recent, { count: "1" })).toMatchObject({ ids: ["7"], total: 3 });
});

test("successes do not push errors out, which are in their order", () => {
  const recent = new RecentRequests(2, () => 0);
  const error = (id: string, endedAt: number) => record(id, { status: 401, result: "invalidToken", endedAt });
  add(recent, error("1", 1), error("2", 2), record("3"));
  add(recent, error("4", 4), record("5"), record("6"));
  expect(list(recent).ids).toEqual(["6", "5"]);
  expect(list(recent, { errors: "" })).toEqual({ ids: ["4", "2"], total: 2 });
});

test("long texts are shortened", () => {
  const recent = new RecentRequests(3, () => 0);
  const [path, message, caller] = [`/${"x".repeat(9_999)}`, "y".repeat(9_999), "z".repeat(9_999)];
  add(recent, record("1", { path, message, caller }));
  const [listed] = recent.list(new URLSearchParams()).requests;
  expect([listed?.path, listed?.message, listed?.token].map((text) => text?.length)).toEqual([301, 500, 500]);
});
