// Load by a generator of our own. wrk sends when an answer comes, and so never more than a server takes; and it does not
// tell which creates were acknowledged.

import type { CpuTime } from "./accounting.ts";
import type { Contender } from "./contender.ts";
import { runAccounted } from "./processes.ts";

const generator = new URL("generator.ts", import.meta.url).pathname;

/** What became of a create, as a byte. */
export const fates = { accepted: 1, refused: 2 } as const;

export interface GeneratorPlan {
  readonly url: string;
  readonly token: string;
  readonly firstId: number;
  /** Connections that are opened; each has one request on its way at a time. */
  readonly connections: number;
  /** When requests are sent: so many a second, or whenever a connection is free. */
  readonly ratePerSecond: number | "closed loop";
  /** Ahead of what is measured. */
  readonly leadInSeconds: number;
  readonly seconds: number;
  /** Where to write the fate of each create that was sent, a byte each, from the first id on. */
  readonly fatesFile: string;
}

export interface Quantiles {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What a generator tells: of the seconds that are measured, and of the whole run. */
export interface GeneratorReport {
  readonly measured: {
    /** Requests that were due. */
    readonly scheduled: number;
    /** Requests that were sent; all others found every connection busy, and were dropped. */
    readonly sent: number;
    readonly accepted: number;
    readonly refused: number;
  };
  /** From the moment that the schedule has for a create until its answer. */
  readonly acceptedFromSchedule: Quantiles;
  /** From the moment that it was sent. */
  readonly acceptedFromSending: Quantiles;
  readonly refusedFromSending: Quantiles | undefined;
  /** How far sending was behind the schedule. */
  readonly behindSchedule: Quantiles;
  readonly whole: { readonly seconds: number; readonly accepted: number; readonly refused: number };
}

export interface GeneratedRun extends GeneratorReport {
  readonly plan: GeneratorPlan;
  readonly loadCpu: CpuTime;
}

type RunPlan = Omit<GeneratorPlan, "url" | "token">;

/** Runs the generator once. Throws if a connection broke, or an answer was neither 200 nor 503 or did not come. */
export async function generate({ url, token }: Contender, run: RunPlan): Promise<GeneratedRun> {
  const plan = { url, token, ...run };
  const { stdout, cpu } = await runAccounted([process.execPath, generator, JSON.stringify(plan)]);
  return { ...(JSON.parse(stdout) as GeneratorReport), plan: { ...plan, token: "" }, loadCpu: cpu };
}
