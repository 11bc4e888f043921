// Creates sent by a schedule that does not wait for responses, or in a closed loop whose every outcome is recorded. wrk
// sends the next request after a response, so it never exceeds the capacity of a server.

import type { ExaminedStore } from "../durability-audit.ts";
import { runProgram } from "../processes.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { type Load, metrics, type Run, type Trial } from "../suite.ts";

const client = new URL("open-loop-client.ts", import.meta.url).pathname;

/** The warm-up before the measured seconds. */
const leadInSeconds = 1;

/** How often the client polls its schedule where it measures what a server can bear. */
const overloadTickMs = 1;

/**
 * The same where it measures latency, in which it counts twice: a request is sent up to this late, and its response read
 * as late again. A client that polls without a pause would take a core from the server.
 */
const latencyTickMs = 0.25;

/** The outcome of a create, as a byte. */
export const fates = { accepted: 1, refused: 2 } as const;

export interface ClientPlan {
  readonly url: string;
  readonly token: string;
  readonly firstId: number;
  /** Each has one request in flight at a time. */
  readonly connections: number;
  /** Requests are sent when due, or whenever a connection is free. */
  readonly ratePerSecond: number | "closed loop";
  /** What happens to a request that is due while each connection is busy. */
  readonly whenBusy: "drop" | "wait";
  readonly tickMs: number;
  readonly leadInSeconds: number;
  readonly seconds: number;
  /** Receives the outcome of each create, one byte each, starting with the first id. */
  readonly fatesFile: string;
}

/** What the client prints: figures of the seconds that are measured, and counts of the whole run. */
export interface ClientReport {
  readonly figures: Readonly<Record<string, number>>;
  readonly accepted: number;
  readonly refused: number;
}

export interface ExaminedSubject extends HttpSubject {
  readonly store: ExaminedStore;
}

interface OpenLoopOptions {
  readonly name: string;
  readonly connections: number;
  /** The rate as a multiple of creates/s under an earlier load; a closed loop if left out. */
  readonly times?: { readonly factor: number; readonly load: string };
  readonly warmsUp?: boolean;
}

export function openLoop({
  name,
  connections,
  times,
  warmsUp = false,
}: OpenLoopOptions): Load<ExaminedSubject> {
  return {
    name,
    warmsUp,
    run: async ({ url, token, store }, { firstId, seconds, earlier }: Trial) => {
      const ratePerSecond =
        times === undefined ? "closed loop" : times.factor * earlier(times.load, metrics.creates);
      const fatesFile = `${store.folder}/fates`;
      const run = await runClient({
        ...{ url, token, firstId, connections, ratePerSecond, whenBusy: "drop", tickMs: overloadTickMs },
        ...{ leadInSeconds, seconds, fatesFile },
      });
      store.fatesByFirstId.set(firstId, await Bun.file(fatesFile).bytes());
      return run;
    },
  };
}

interface FixedRateOptions {
  readonly name: string;
  readonly connections: number;
  /** A multiple of the lowest creates/s that a subject reached under an earlier load: the same rate for all. */
  readonly times: { readonly factor: number; readonly load: string };
  /** For files. */
  readonly folder: string;
}

/**
 * Creates at a fixed rate. A request whose connection is busy is sent late rather than left out, and its latency counts
 * from when it was due, so that a server that stalls has the stall in all the requests that it delayed.
 */
export function fixedRate({ name, connections, times, folder }: FixedRateOptions): Load<HttpSubject> {
  return {
    name,
    run: async ({ url, token }, { firstId, seconds, lowest }: Trial) =>
      runClient({
        ...{
          url,
          token,
          firstId,
          connections,
          whenBusy: "wait",
          tickMs: latencyTickMs,
          leadInSeconds,
          seconds,
        },
        ratePerSecond: times.factor * lowest(times.load, metrics.creates),
        fatesFile: `${folder}/fates`,
      }),
  };
}

async function runClient(plan: ClientPlan): Promise<Run> {
  const { stdout, cpu } = await runProgram([process.execPath, client, JSON.stringify(plan)]);
  const { figures, accepted, refused } = JSON.parse(stdout) as ClientReport;
  return { figures, requests: accepted + refused, acknowledged: accepted, loadCpu: cpu };
}
