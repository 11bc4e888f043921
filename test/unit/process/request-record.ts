// A request that was completed, for the tests of the log.

import type { RequestRecord } from "../../../src/base/server-event.ts";

export const request: RequestRecord = {
  requestId: "a-1",
  traceparent: null,
  method: "POST",
  path: "/plants",
  startedAt: 0,
  endedAt: 33.4567,
  status: 200,
  result: "created",
  caller: "ci",
};
