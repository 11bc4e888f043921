// Measures contenders in turns, round after round, so that what the machine does meanwhile happens to all of them.

import { type CpuUse, cpuBetween, readCpu } from "./accounting.ts";
import type { Contender } from "./contender.ts";
import { type LoadResult, runWrk } from "./wrk.ts";

/** One run of one contender. */
export interface Measurement extends LoadResult {
  readonly contender: string;
  readonly connections: number;
  readonly round: number;
  readonly cpu: CpuUse;
}

export interface RoundsPlan {
  readonly contenders: readonly Contender[];
  readonly connections: readonly number[];
  readonly rounds: number;
  /** How long each run takes. */
  readonly seconds: number;
  readonly firstIds: Iterator<number, never>;
  readonly tell: (line: string) => void;
}

/** Runs each contender once before it counts: code is compiled and files have their first pages. */
export async function warmUp(plan: RoundsPlan): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  const connections = Math.max(...plan.connections);
  for (const contender of plan.contenders) {
    plan.tell(`warm-up: ${contender.name}`);
    measurements.push(await measure(plan, contender, connections, 0));
  }
  return measurements;
}

/** Every contender with every number of connections, in every round. */
export async function measureRounds(plan: RoundsPlan): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const connections of plan.connections) {
    for (let round = 1; round <= plan.rounds; round++) {
      const inTurn: string[] = [];
      for (const contender of rotated(plan.contenders, round)) {
        const measurement = await measure(plan, contender, connections, round);
        measurements.push(measurement);
        inTurn.push(`${contender.name} ${Math.round(measurement.perSecond)}/s`);
      }
      plan.tell(`${connections} connections, round ${round} of ${plan.rounds}: ${inTurn.join(", ")}`);
    }
  }
  return measurements;
}

/** The runs of one contender with one number of connections, in the order of the rounds. */
export function runsOf(
  measurements: readonly Measurement[],
  contender: string,
  connections: number,
): Measurement[] {
  return measurements.filter((run) => run.contender === contender && run.connections === connections);
}

/** A figure of one contender over another's, round by round: what the machine did in a round concerns both. */
export function ratios(
  measurements: readonly Measurement[],
  pair: readonly [string, string],
  connections: number,
  figureOf: (run: Measurement) => number,
): number[] {
  const others = runsOf(measurements, pair[1], connections);
  return runsOf(measurements, pair[0], connections).map((run) => {
    const other = others.find(({ round }) => round === run.round);
    if (other === undefined) throw new Error(`${pair[1]} was not measured in round ${run.round}`);
    return figureOf(run) / figureOf(other);
  });
}

async function measure(
  { seconds, firstIds }: RoundsPlan,
  contender: Contender,
  connections: number,
  round: number,
): Promise<Measurement> {
  const { name, url, token, pid } = contender;
  const before = readCpu(pid);
  const load = await runWrk({ url, token, connections, seconds, firstId: firstIds.next().value });
  return { contender: name, connections, round, ...load, cpu: cpuBetween(before, readCpu(pid)) };
}

/** Nobody is always first, nor always behind the same one's writes. */
function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}
