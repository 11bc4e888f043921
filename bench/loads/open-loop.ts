// Creates sent by a schedule that does not wait for responses. wrk sends the next request after a
// response, so a server that stalls delays its own load.

import { runProgram } from "../processes.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { type Load, metrics, type Trial } from "../suite.ts";

const client = new URL("open-loop-client.ts", import.meta.url).pathname;

export interface ClientPlan {
  readonly url: string;
  readonly token: string;
  readonly firstId: number;
  /** Each has one request in flight at a time. */
  readonly connections: number;
  readonly ratePerSecond: number;
  readonly seconds: number;
}

/** The client's line: figures of the measured seconds, and the creates of the whole run. */
export interface ClientReport {
  readonly figures: Readonly<Record<string, number>>;
  readonly accepted: number;
}

/**
 * Creates at half of the lowest rate under another load, which is the same for all subjects. A
 * request whose connection is busy is sent late, and its latency counts from when it was due, so
 * that a stall shows in all requests that it delayed.
 */
export function halfOf(peak: string, name: string, connections: number): Load<HttpSubject> {
  return {
    name,
    run: async ({ url, token }, { firstId, seconds, lowest }: Trial) => {
      const ratePerSecond = lowest(peak, metrics.creates) / 2;
      const plan: ClientPlan = { url, token, firstId, connections, ratePerSecond, seconds };
      const { stdout, cpu } = await runProgram([process.execPath, client, JSON.stringify(plan)]);
      const { figures, accepted } = JSON.parse(stdout) as ClientReport;
      return { figures, requests: accepted, acknowledged: accepted, loadCpu: cpu };
    },
  };
}
