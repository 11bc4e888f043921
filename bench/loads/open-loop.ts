// Creates sent by a schedule that does not wait for responses. wrk sends the next request after a
// response, so a server that stalls delays its own load.

import { runProgram } from "../processes.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { type Load, metrics, type Trial } from "../suite.ts";

const client = new URL("open-loop-client.ts", import.meta.url).pathname;

/** The warm-up before the measured seconds. */
const leadInSeconds = 1;

/**
 * How often the client polls its schedule, which counts twice in a latency: for the request and for
 * its response. Without a pause it would take a core from the server.
 */
const tickMs = 0.25;

export interface ClientPlan {
  readonly url: string;
  readonly token: string;
  readonly firstId: number;
  /** Each has one request in flight at a time. */
  readonly connections: number;
  readonly ratePerSecond: number;
  readonly tickMs: number;
  readonly leadInSeconds: number;
  readonly seconds: number;
}

/** The client's line: figures of the measured seconds, and the creates of the whole run. */
export interface ClientReport {
  readonly figures: Readonly<Record<string, number>>;
  readonly accepted: number;
}

interface FixedRateOptions {
  readonly name: string;
  readonly connections: number;
  /** A multiple of the lowest creates/s of an earlier load: the same rate for all. */
  readonly times: { readonly factor: number; readonly load: string };
}

/**
 * Creates at a fixed rate. A request whose connection is busy is sent late, and its latency counts
 * from when it was due, so that a stall shows in all requests that it delayed.
 */
export function fixedRate({ name, connections, times }: FixedRateOptions): Load<HttpSubject> {
  return {
    name,
    run: async ({ url, token }, { firstId, seconds, lowest }: Trial) => {
      const ratePerSecond = times.factor * lowest(times.load, metrics.creates);
      const plan: ClientPlan = {
        url,
        token,
        firstId,
        connections,
        ratePerSecond,
        tickMs,
        leadInSeconds,
        seconds,
      };
      const { stdout, cpu } = await runProgram([process.execPath, client, JSON.stringify(plan)]);
      const { figures, accepted } = JSON.parse(stdout) as ClientReport;
      return { figures, requests: accepted, acknowledged: accepted, loadCpu: cpu };
    },
  };
}
