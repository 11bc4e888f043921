// The suite "create": durable creates on SQLite beside nginx's static response and beside the service as others write it.

import { sqliteDatabase, startBaselines } from "../baselines.ts";
import { wrkLoads } from "../loads/wrk.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { startStaticNginx } from "../subjects/nginx.ts";
import { startPlantstore } from "../subjects/plantstore.ts";
import { metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const createSuite: Suite = {
  name: "create",
  title: "Creates",
  summary:
    "Durable creates on SQLite with every check on, beside nginx answering a static 200 to the same requests, and beside Fastify with node:sqlite and one commit a request.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 5, seconds: 2 },
  scenarios: [creates],
};

async function creates(setup: Setup): Promise<Scenario<HttpSubject>> {
  const servers: HttpSubject[] = [];
  for (const version of setup.versions) servers.push(await startPlantstore(setup, version));
  const nginx = await startStaticNginx(setup);
  const baselines = await startBaselines(setup, "create", sqliteDatabase(setup));
  const [subject, ofNginx] = ["plantstore", { subject: "nginx" }];
  const [many, most] = ["64 connections", "256 connections"];
  return {
    name: "Creates on SQLite",
    subjects: [...servers, ...(nginx === undefined ? [] : [nginx]), ...baselines],
    loads: wrkLoads(1, 64, 256),
    metrics: [metrics.creates, metrics.p50, metrics.p99, metrics.cpu, metrics.memory],
    claims: [
      { subject, metric: metrics.creates },
      { subject, metric: metrics.p99, loads: [most] },
      {
        ...{ subject, metric: metrics.creates, over: ofNginx, loads: [many, most] },
        thresholds: { [many]: { atLeast: 0.45 }, [most]: { atLeast: 0.65 } },
      },
      ...baselines.map(({ name, thresholds }) => ({
        ...{ subject, metric: metrics.creates, over: { subject: name }, loads: [many, most], thresholds },
      })),
      { subject, metric: metrics.cpu, over: ofNginx, loads: [many] },
      { subject, metric: metrics.cpu, over: ofNginx, loads: [most], thresholds: { [most]: { atMost: 2.2 } } },
      { subject, metric: metrics.memory, loads: [most], thresholds: { [most]: { atMost: 200 } } },
    ],
  };
}
