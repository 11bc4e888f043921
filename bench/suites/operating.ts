// The suite "operating": what the log, the metrics and the traces cost creates.

import { wrkLoads } from "../loads/wrk.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { startPlantstore } from "../subjects/plantstore.ts";
import { metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const operatingSuite: Suite = {
  name: "operating",
  title: "Operating",
  summary:
    "What observing a server costs: the defaults (10 requests a second logged, metrics, admin listener), without access log and admin listener, with every request logged, and with traces sent to a collector here.",
  scenarios: [observed],
};

const defaults = "defaults";
const unobserved = "unobserved";
const leftMin = { atLeast: 0.95 };

async function observed(setup: Setup): Promise<Scenario<HttpSubject>> {
  const [thisCommit] = setup.versions;
  const subjects: HttpSubject[] = [];
  for (const version of setup.versions)
    subjects.push(await startPlantstore(setup, version, { name: defaults }));
  const variants = [
    { name: unobserved, args: ["--admin-port", "off", "--access-log", "0"] },
    { name: "every request logged", args: ["--access-log", "1000000"], dropsLog: true },
    { name: "traced", args: ["--otlp-endpoint", startCollector(setup)] },
  ];
  for (const variant of variants) subjects.push(await startPlantstore(setup, thisCommit, variant));
  const creates = metrics.creates;
  const loads = ["256 connections"];
  const thresholds = { "64 connections": leftMin, "256 connections": leftMin };
  return {
    name: "Creates while observed",
    subjects,
    loads: wrkLoads(64, 256),
    metrics: [metrics.creates, metrics.p50, metrics.p99, metrics.cpu],
    claims: [
      { subject: defaults, metric: creates, over: { subject: unobserved }, thresholds },
      { subject: "every request logged", metric: creates, over: { subject: defaults }, loads },
      { subject: "traced", metric: creates, over: { subject: defaults }, loads },
    ],
  };
}

/** Accepts traces and drops them. Returns its address. */
function startCollector({ stack }: Setup): string {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      await request.bytes();
      return Response.json({});
    },
  });
  stack.defer(() => server.stop(true));
  return server.url.origin;
}
