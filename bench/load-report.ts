// What is told of any rounds: ratios beside their targets, answers a second, latency.

import { type Measurement, ratios, runsOf } from "./rounds.ts";
import { spreadOf, spreadText } from "./spread.ts";
import { figure, markdownTable, whole } from "./table.ts";
import type { JudgedFigure } from "./targets.ts";

/** What was measured, by contenders of these names at these numbers of connections. */
export interface MeasuredRounds {
  readonly measurements: readonly Measurement[];
  readonly connections: readonly number[];
  readonly contenders: readonly string[];
}

/** A figure of one contender over another's, and what that is to be at which number of connections. */
interface Comparison {
  readonly name: string;
  readonly pair: readonly [string, string];
  readonly figureOf: (run: Measurement) => number;
  readonly targets?: {
    readonly atLeast?: Readonly<Record<number, number>>;
    readonly atMost?: Readonly<Record<number, number>>;
  };
}

export function answersPerSecond({ perSecond }: Measurement): number {
  return perSecond;
}

/** A comparison at each number of connections. */
export function judgedRatios(
  measurements: readonly Measurement[],
  connections: readonly number[],
  { name, pair, figureOf, targets }: Comparison,
): JudgedFigure[] {
  return connections.map((count) => ({
    name: `${name}, ${connectionsText(count)}`,
    spread: spreadOf(ratios(measurements, pair, count, figureOf)),
    target: target(targets?.atLeast?.[count], targets?.atMost?.[count]),
  }));
}

export function ratesTable({ measurements, connections, contenders }: MeasuredRounds): string {
  const rows = connections.map((count) => [
    connectionsText(count),
    ...contenders.map((contender) => {
      const rates = runsOf(measurements, contender, count).map(answersPerSecond);
      return spreadText(spreadOf(rates), whole);
    }),
  ]);
  return markdownTable(["answers a second", ...contenders], rows);
}

export function latencyTable({ measurements, connections, contenders }: MeasuredRounds): string {
  const rows = connections.map((count) => [
    connectionsText(count),
    ...contenders.map((contender) => {
      const runs = runsOf(measurements, contender, count);
      const [p50, p99] = [runs.map(({ p50Ms }) => p50Ms), runs.map(({ p99Ms }) => p99Ms)];
      return `${figure(spreadOf(p50).median)} / ${figure(spreadOf(p99).median)}`;
    }),
  ]);
  return markdownTable(["p50 / p99 in ms", ...contenders], rows);
}

function connectionsText(count: number): string {
  return count === 1 ? "1 connection" : `${count} connections`;
}

function target(atLeast: number | undefined, atMost: number | undefined): JudgedFigure["target"] {
  if (atLeast !== undefined) return { atLeast };
  return atMost === undefined ? undefined : { atMost };
}
