// Measures a server at its peak and under three times that, round after round.

import { type CpuUse, cpuBetween, readCpu } from "./accounting.ts";
import type { AccountedRun } from "./acknowledged.ts";
import type { Contender } from "./contender.ts";
import { type GeneratedRun, type GeneratorPlan, generate } from "./generated-load.ts";

/** How many times the peak is offered. */
export const overloadFactor = 3;

const leadInSeconds = 1;

/** A server and what it is to be loaded with. */
export interface Overloaded {
  readonly name: string;
  readonly contender: Contender;
  /** The address of its store. */
  readonly database: string;
  readonly connections: {
    /** In a closed loop: enough for the highest rate. */
    readonly peak: number;
    /** Fewer than those from which on a server closes some. */
    readonly overload: number;
  };
}

export interface OverloadPlan {
  readonly rounds: number;
  readonly seconds: number;
  /** For files. */
  readonly folder: string;
  readonly firstIds: Iterator<number, never>;
  readonly tell: (line: string) => void;
}

/** A run with the processor time that the server used in it. */
export interface OverloadRun extends GeneratedRun {
  readonly cpu: CpuUse;
}

export interface OverloadRound {
  readonly peak: OverloadRun;
  readonly overload: OverloadRun;
}

/** All rounds, and the fates of the creates of all runs, the warm-up's too. */
export async function measureOverload(
  { name, contender, connections }: Overloaded,
  { rounds, seconds, folder, firstIds, tell }: OverloadPlan,
): Promise<{ rounds: OverloadRound[]; runs: AccountedRun[] }> {
  const runs: AccountedRun[] = [];

  async function run(
    connections: number,
    ratePerSecond: GeneratorPlan["ratePerSecond"],
  ): Promise<OverloadRun> {
    const firstId = firstIds.next().value;
    const fatesFile = `${folder}/fates`;
    const before = readCpu(contender.pid);
    const plan = { firstId, connections, ratePerSecond, leadInSeconds, seconds, fatesFile };
    const generated = await generate(contender, plan);
    const cpu = cpuBetween(before, readCpu(contender.pid));
    runs.push({ firstId, fates: await Bun.file(fatesFile).bytes() });
    return { ...generated, cpu };
  }

  tell(`warm-up: ${name}`);
  await run(connections.peak, "closed loop");
  const measured: OverloadRound[] = [];
  for (let round = 1; round <= rounds; round++) {
    const peak = await run(connections.peak, "closed loop");
    const overload = await run(connections.overload, overloadFactor * goodputOf(peak));
    measured.push({ peak, overload });
    const figures = [goodputOf(peak), goodputOf(overload), overload.measured.refused / seconds].map(
      Math.round,
    );
    tell(
      `${name}, round ${round} of ${rounds}: peak ${figures[0]}/s, overload ${figures[1]}/s, refused ${figures[2]}/s`,
    );
  }
  return { rounds: measured, runs };
}

/** Creates a second that were answered with 200. */
export function goodputOf({ measured, plan }: GeneratedRun): number {
  return measured.accepted / plan.seconds;
}
