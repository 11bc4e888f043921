// Measures contenders in turns, round after round, so that what the machine does meanwhile happens to all of them.

import { type CpuReading, type CpuUse, cpuBetween } from "./accounting.ts";
import type { Load, LoadResult } from "./load.ts";

/** What is measured in turns. */
export interface Entrant {
  readonly name: string;
  /** Does one run. */
  drive(load: Load): Promise<LoadResult>;
  /** The processor time so far of all that works for it, without the program that makes the load. */
  readCpu(): CpuReading;
}

/** One run of one entrant. */
export interface Measurement extends LoadResult {
  readonly contender: string;
  readonly connections: number;
  readonly round: number;
  readonly cpu: CpuUse;
}

export interface RoundsPlan {
  readonly entrants: readonly Entrant[];
  readonly connections: readonly number[];
  readonly rounds: number;
  /** How long each run takes. */
  readonly seconds: number;
  readonly firstIds: Iterator<number, never>;
  readonly tell: (line: string) => void;
}

/** Runs each entrant once before it counts: code is compiled and files have their first pages. */
export async function warmUp(plan: RoundsPlan): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  const connections = Math.max(...plan.connections);
  for (const entrant of plan.entrants) {
    plan.tell(`warm-up: ${entrant.name}`);
    measurements.push(await measure(plan, entrant, connections, 0));
  }
  return measurements;
}

/** Every entrant with every number of connections, in every round. */
export async function measureRounds(plan: RoundsPlan): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const connections of plan.connections) {
    for (let round = 1; round <= plan.rounds; round++) {
      const inTurn: string[] = [];
      for (const entrant of rotated(plan.entrants, round)) {
        const measurement = await measure(plan, entrant, connections, round);
        measurements.push(measurement);
        inTurn.push(`${entrant.name} ${Math.round(measurement.perSecond)}/s`);
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
  entrant: Entrant,
  connections: number,
  round: number,
): Promise<Measurement> {
  const before = entrant.readCpu();
  const result = await entrant.drive({ connections, seconds, firstId: firstIds.next().value });
  const cpu = cpuBetween(before, entrant.readCpu());
  return { contender: entrant.name, connections, round, ...result, cpu };
}

/** Nobody is always first, nor always behind the same one's writes. */
function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}
