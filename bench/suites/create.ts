// The suite "create": durable creates on SQLite, a static response, a bare server on this runtime,
// and the same service as others write it.

import { type Baseline, sqliteDatabase, startBaselines } from "../baselines.ts";
import { wrkLoads } from "../loads/wrk.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { startStaticNginx } from "../subjects/nginx.ts";
import { startVersions } from "../subjects/plantstore.ts";
import { type Claim, metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const createSuite: Suite = {
  name: "create",
  title: "Creates",
  summary:
    "Durable creates on SQLite with every check on, beside the same service with a group commit in Rust, Fastify with one commit a request, a bare Bun server without a store, and nginx answering a static 200 to the same requests.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 5, seconds: 2 },
  setUp: creates,
};

const [one, many, most] = ["1 connection", "64 connections", "256 connections"];
const subject = "plantstore";
const shown = [
  metrics.creates,
  metrics.p50,
  metrics.p99,
  metrics.userCpu,
  metrics.systemCpu,
  metrics.cpu,
  metrics.memory,
];

async function creates(setup: Setup): Promise<Scenario<HttpSubject>> {
  const servers = await startVersions(setup);
  const nginx = await startStaticNginx(setup);
  const baselines = await startBaselines(setup, "create", sqliteDatabase(setup));
  return {
    name: "Creates on SQLite",
    subjects: [...servers, ...baselines, ...(nginx === undefined ? [] : [nginx])],
    loads: wrkLoads(1, 64, 256),
    metrics: shown,
    claims: [
      { subject, metric: metrics.creates },
      { subject, metric: metrics.p99, loads: [most] },
      ...claimsOver(baselines),
      {
        subject,
        metric: metrics.creates,
        over: "nginx",
        thresholds: { [many]: { atLeast: 0.45 }, [most]: { atLeast: 0.65 } },
      },
      { subject, metric: metrics.cpu, loads: [most] },
      {
        subject,
        metric: metrics.cpu,
        over: "bun-bare",
        thresholds: { [most]: { atMost: 1.2 } },
      },
      { subject, metric: metrics.cpu, over: "nginx", thresholds: { [most]: { atMost: 2.2 } } },
      { subject, metric: metrics.memory, thresholds: { [most]: { atMost: 140 } } },
    ],
  };
}

/** At most connections, and where there is a threshold: at one, each has one create a commit. */
function claimsOver(baselines: readonly Baseline[]): Claim[] {
  return baselines.map(({ name, thresholds }) => ({
    subject,
    metric: metrics.creates,
    over: name,
    thresholds,
    loads: [one, many, most].filter((load) => load === most || load in thresholds),
  }));
}
