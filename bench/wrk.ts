// Drives a server with wrk: a given number of connections, each sending creates one after the other.

import { runToEnd } from "./processes.ts";

const script = new URL("wrk-create.lua", import.meta.url).pathname;

/** A test's answers may wait for a slow disk; wrk counts one that took longer as an error. */
const answerSecondsMax = 10;

/** Ids that a run may use up: at 100,000 a second more than a quarter of an hour. */
const idsPerRun = 10 ** 8;

/** The longest run that cannot use up its ids. */
export const runSecondsMax = 600;

export interface Load {
  /** The base address, without /plants. */
  readonly url: string;
  readonly token: string;
  readonly connections: number;
  readonly seconds: number;
  /** From where ids are taken, see firstIds. */
  readonly firstId: number;
}

/** What wrk measured in one run. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What wrk-create.lua prints. */
interface ScriptReport {
  readonly requests: number;
  readonly durationUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly refused: number;
  readonly broken: number;
}

/**
 * The first id of one run after the other, so that no id is sent twice: a create, never a replay. All have 13
 * digits, which keeps requests the same length and ids exact as double-precision numbers.
 */
export function* firstIds(): Generator<number, never> {
  for (let id = 10 ** 12; id < 10 ** 13; id += idsPerRun) yield id;
  throw new Error("The ids of 13 digits are used up");
}

/** Runs wrk once. Throws if any answer was not 2xx or any connection broke: such a run measures something else. */
export async function runWrk({ url, token, connections, seconds, firstId }: Load): Promise<LoadResult> {
  const output = await runToEnd([
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
  const report = reportIn(output);
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
  };
}

function reportIn(output: string): ScriptReport {
  const line = output.split("\n").find((candidate) => candidate.startsWith("{"));
  if (line === undefined) throw new Error(`wrk printed no result: ${output}`);
  return JSON.parse(line) as ScriptReport;
}
