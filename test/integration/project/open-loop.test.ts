// The load at a fixed rate: a server that stalls has the stall in every request that was due
// meanwhile.

import { expect, test } from "bun:test";
import type { ClientPlan, ClientReport } from "../../../bench/loads/open-loop.ts";
import { runProgram } from "../../support/server.ts";

const client = new URL("../../../bench/loads/open-loop-client.ts", import.meta.url).pathname;

test("a stall is in the latency of the requests that it delayed, and none of them is left out", async () => {
  const [firstId, ratePerSecond, stallMs] = [10 ** 12, 1_000, 500];
  // The first second is not measured, so this one is due 100 ms later.
  const stalledId = firstId + ratePerSecond + 100;
  let stall: Promise<void> | undefined;
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { id } = (await request.json()) as { id: number };
      if (id === stalledId) stall = Bun.sleep(stallMs);
      await stall;
      return Response.json({});
    },
  });
  const plan: ClientPlan = {
    url: server.url.origin,
    token: "token",
    firstId,
    connections: 4,
    ratePerSecond,
    seconds: 1,
  };
  const { stdout, stderr } = await runProgram([process.execPath, client, JSON.stringify(plan)]);
  expect(stderr).toBe("");
  const { figures, accepted } = JSON.parse(stdout) as ClientReport;
  expect(accepted).toBe(2 * ratePerSecond);
  expect(figures["offered/s"]).toBe(ratePerSecond);
  // Only 4 of the 1,000 were on their way when it began; the 500 that were due during the stall
  // waited 250 ms on average.
  expect(figures["p99 ms from schedule"]).toBeGreaterThan(0.9 * stallMs);
});
