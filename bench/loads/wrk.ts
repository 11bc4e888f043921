// The closed loop of wrk: a number of connections, each sending creates one after the other.

import { runProgram } from "../processes.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { type Load, metrics, type Run, type Trial } from "../suite.ts";

const script = new URL("wrk-create.lua", import.meta.url).pathname;

/** wrk counts a response that took longer as an error. */
const responseSecondsMax = 10;

/** Loads of wrk with these numbers of connections and consecutive ids; the last one warms up. */
export function wrkLoads(...connections: readonly number[]): Load<HttpSubject>[] {
  return connections.map((count, index) => ({
    name: count === 1 ? "1 connection" : `${count} connections`,
    warmsUp: index === connections.length - 1,
    run: (subject, trial) => runWrk(subject, count, trial, "consecutive"),
  }));
}

/** A load of wrk with random ids below 2^62; it warms up. */
export function wrkRandomIds(connections: number): Load<HttpSubject> {
  return {
    name: `random ids, ${connections} connections`,
    warmsUp: true,
    run: (subject, trial) => runWrk(subject, connections, trial, "random"),
  };
}

async function runWrk(
  { url, token }: HttpSubject,
  connections: number,
  { seconds, firstId }: Trial,
  ids: "consecutive" | "random",
): Promise<Run> {
  const run = await runScript(script, `${url}/plants`, connections, seconds, [token, String(firstId), ids]);
  return {
    ...run,
    figures: { ...run.figures, [metrics.creates]: run.perSecond },
    acknowledged: run.requests,
  };
}

interface WrkRun extends Run {
  readonly requests: number;
  readonly perSecond: number;
}

/** Throws if any answer was not 2xx or any connection broke: such a run measures something else. */
export async function runScript(
  script: string,
  url: string,
  connections: number,
  seconds: number,
  args: readonly string[],
): Promise<WrkRun> {
  const { stdout, cpu } = await runProgram([
    ...["wrk", "--threads=1", `--connections=${connections}`, `--duration=${seconds}s`],
    ...[`--timeout=${responseSecondsMax}s`, "--latency", `--script=${script}`, url, "--", ...args],
  ]);
  const line = stdout.split("\n").find((candidate) => candidate.startsWith("{"));
  if (line === undefined) throw new Error(`wrk printed no result: ${stdout}`);
  const { requests, durationUs, p50Us, p99Us, refused, broken } = JSON.parse(line) as Record<string, number>;
  if (requests === undefined || durationUs === undefined || !requests || refused || broken)
    throw new Error(`a run of wrk against ${url} is void: ${line}`);
  const figures = {
    [metrics.p50]: (p50Us ?? Number.NaN) / 1e3,
    [metrics.p99]: (p99Us ?? Number.NaN) / 1e3,
  };
  return { figures, requests, perSecond: requests / (durationUs / 1e6), loadCpu: cpu };
}
