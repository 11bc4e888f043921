// Drives a server with wrk: a given number of connections, each sending creates one after the other.

import type { Contender } from "./contender.ts";
import type { Load, LoadResult } from "./load.ts";
import { runAccounted } from "./processes.ts";

const script = new URL("wrk-create.lua", import.meta.url).pathname;

/** A test's answers may wait for a slow disk; wrk counts one that took longer as an error. */
const answerSecondsMax = 10;

/** What wrk-create.lua prints. */
interface ScriptReport {
  readonly requests: number;
  readonly durationUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly refused: number;
  readonly broken: number;
}

/** Runs wrk once. Throws if any answer was not 2xx or any connection broke: such a run measures something else. */
export async function runWrk(
  { url, token }: Contender,
  { connections, seconds, firstId }: Load,
): Promise<LoadResult> {
  const { stdout, cpu } = await runAccounted([
    "wrk",
    "--threads=1",
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    `--timeout=${answerSecondsMax}s`,
    "--latency",
    `--script=${script}`,
    `${url}/plants`,
    "--",
    token,
    String(firstId),
  ]);
  const report = reportIn(stdout);
  if (report.refused > 0 || report.broken > 0 || report.requests === 0) {
    throw new Error(
      `a run against ${url} is void: of ${report.requests} answers ${report.refused} were refusals, and ` +
        `${report.broken} connections or requests broke`,
    );
  }
  return {
    requests: report.requests,
    perSecond: report.requests / (report.durationUs / 1e6),
    p50Ms: report.p50Us / 1e3,
    p99Ms: report.p99Us / 1e3,
    loadCpu: cpu,
  };
}

function reportIn(output: string): ScriptReport {
  const line = output.split("\n").find((candidate) => candidate.startsWith("{"));
  if (line === undefined) throw new Error(`wrk printed no result: ${output}`);
  return JSON.parse(line) as ScriptReport;
}
