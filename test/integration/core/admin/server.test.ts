// The admin listener: an exception of a route is a response and a report, and not the end of
// anything else.

import { expect, test } from "bun:test";
import { startAdminServer } from "../../../../src/core/admin/admin-server.ts";
import { Metrics } from "../../../../src/core/observability/metrics.ts";

test("an exception of a route is answered 500 and reported, and does not change the exit code of the process", async () => {
  const failure = new Error("too many open files");
  const fail = () => {
    throw failure;
  };
  const gauges = {
    queuedPlants: fail,
    nodesUp: fail,
    bodyBytesInFlight: fail,
    connections: fail,
    certificateExpiresAt: fail,
    storeBytes: fail,
    walBytes: fail,
  };
  const reported: unknown[] = [];
  const server = startAdminServer({
    host: "127.0.0.1",
    port: 0,
    routes: [],
    assertReady: async () => [],
    metrics: new Metrics(gauges, { version: "0", bun: "0", engine: "none" }),
    onInternalError: (error) => reported.push(error),
  });
  try {
    const response = await fetch(`${server.url.origin}/metrics`);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ message: "Internal error; see the server's log." });
    expect(reported).toEqual([failure]);
    expect((await fetch(`${server.url.origin}/livez`)).status).toBe(200);
    expect(process.exitCode ?? 0).toBe(0);
  } finally {
    await server.stop(true);
  }
});
