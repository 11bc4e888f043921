// The suite "latency": how long creates take at a fixed rate that this server and Rust can bear.

import { sqliteDatabase, startBaselines } from "../baselines.ts";
import { halfOf } from "../loads/open-loop.ts";
import { wrkLoads } from "../loads/wrk.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { startVersions } from "../subjects/plantstore.ts";
import { metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const latencySuite: Suite = {
  name: "latency",
  title: "Latency at a fixed rate",
  summary:
    "Half of what the slowest subject creates in a closed loop of the same round, offered to each by a schedule that does not wait for responses. Latency counts from when a request was due, also where it was sent late (no coordinated omission), to 0.5 ms.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 5, seconds: 5 },
  setUp: latency,
};

const [peak, half] = ["256 connections", "half of the peak"];

async function latency(setup: Setup): Promise<Scenario<HttpSubject>> {
  const servers = await startVersions(setup);
  const baselines = await startBaselines(setup, "latency", sqliteDatabase(setup));
  const [subject, loads] = ["plantstore", [half]];
  const [p50, p99, p999] = ["p50 ms from schedule", "p99 ms from schedule", "p99.9 ms from schedule"];
  return {
    name: "Latency at half of the peak",
    subjects: [...servers, ...baselines],
    loads: [...wrkLoads(256), halfOf(peak, half, 256)],
    metrics: [
      p99,
      p50,
      p999,
      metrics.creates,
      "offered/s",
      "send lag p99 ms",
      metrics.cpu,
      "user µs, load generator",
      "system µs, load generator",
    ],
    claims: [
      { subject, metric: p99, loads },
      ...baselines.map(({ name, thresholds }) => ({
        subject,
        metric: p99,
        over: name,
        loads,
        thresholds,
      })),
    ],
  };
}
