// The suite "latency": how long creates take at a fixed rate that both this server and the same service in Rust can bear.

import { closeSync, openSync, readSync } from "node:fs";
import { sqliteDatabase, startBaselines } from "../baselines.ts";
import { fixedRate } from "../loads/open-loop.ts";
import { wrkLoads } from "../loads/wrk.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { startPlantstore } from "../subjects/plantstore.ts";
import { type Load, metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const latencySuite: Suite = {
  name: "latency",
  title: "Latency at a fixed rate",
  summary:
    "Half of what the slowest subject creates in a closed loop of the same round, offered to each by a schedule that does not wait for responses, and checkpoints meanwhile. Latency counts from when a request was due, also where it was sent late (no coordinated omission), to 0.5 ms.",
  defaults: { seconds: 5 },
  scenarios: [latency],
};

const [peak, half] = ["256 connections", "half of the peak"];

async function latency(setup: Setup): Promise<Scenario<HttpSubject>> {
  const servers: HttpSubject[] = [];
  for (const version of setup.versions) servers.push(await startPlantstore(setup, version));
  const baselines = await startBaselines(setup, "latency", sqliteDatabase(setup));
  const times = { factor: 0.5, load: peak };
  const [subject, loads] = ["plantstore", [half]];
  const [p50, p99, p999] = ["p50 ms from schedule", "p99 ms from schedule", "p99.9 ms from schedule"];
  return {
    name: "Latency at half of the peak",
    subjects: [...servers, ...baselines],
    loads: [
      ...wrkLoads(256),
      countCheckpoints(fixedRate({ name: half, connections: 256, times, folder: setup.folder })),
    ],
    metrics: [
      ...[p99, p50, p999, metrics.creates, "offered/s", "send lag p99 ms", "checkpoints"],
      ...[metrics.cpu, "user µs, load generator", "system µs, load generator"],
    ],
    claims: [
      { subject, metric: p99, loads },
      ...baselines.map(({ name }) => ({
        ...{ subject, metric: p99, over: { subject: name }, loads },
        thresholds: { [half]: { atMost: 1.5 } },
      })),
    ],
  };
}

/** A load that also counts how often the WAL began again during the run, which it does after a complete checkpoint. */
function countCheckpoints(load: Load<HttpSubject>): Load<HttpSubject> {
  return {
    ...load,
    run: async (subject, trial) => {
      const before = checkpointSequence(subject);
      const run = await load.run(subject, trial);
      return { ...run, figures: { ...run.figures, checkpoints: checkpointSequence(subject) - before } };
    },
  };
}

/** The checkpoint sequence number in the header of the WAL, https://sqlite.org/fileformat2.html#walformat. */
function checkpointSequence({ sqliteFile }: HttpSubject): number {
  if (sqliteFile === undefined) return Number.NaN;
  const header = Buffer.alloc(32);
  const file = openSync(`${sqliteFile}-wal`, "r");
  readSync(file, header, 0, header.length, 0);
  closeSync(file);
  return header.readUInt32BE(12);
}
