// What the suite "operating" prints: how much of the throughput is left beside its target, then the figures.

import { cpuUsPerRequest } from "./cpu-report.ts";
import {
  answersPerSecond,
  judgedRatios,
  latencyTable,
  type MeasuredRounds,
  ratesTable,
} from "./load-report.ts";
import { type JudgedFigure, judgedTable } from "./targets.ts";

/** Less than 5 % of the throughput. */
const leftMin = 0.95;

/** The ratios that the project is judged by, and what costs more is told without a target. */
export function judge({ measurements, connections }: MeasuredRounds): JudgedFigure[] {
  const atLeast = Object.fromEntries(connections.map((count) => [count, leftMin]));
  const pairs = [
    ["defaults", "unwatched"],
    ["defaults", "before events"],
  ] as const;
  return [
    ...pairs.flatMap((pair) =>
      judgedRatios(measurements, connections, {
        name: `creates, ${pair[0]} of ${pair[1]}`,
        pair,
        figureOf: answersPerSecond,
        targets: { atLeast },
      }),
    ),
    ...pairs.flatMap((pair) =>
      judgedRatios(measurements, connections, {
        name: `processor time, ${pair[0]} times ${pair[1]}`,
        pair,
        figureOf: cpuUsPerRequest,
      }),
    ),
    ...["every request logged", "traced"].flatMap((name) =>
      judgedRatios(measurements, connections, {
        name: `creates, ${name} of defaults`,
        pair: [name, "defaults"],
        figureOf: answersPerSecond,
      }),
    ),
  ];
}

/** All tables, in Markdown. */
export function operatingTables(figures: MeasuredRounds): string {
  return [judgedTable(judge(figures)), ratesTable(figures), latencyTable(figures)].join("\n\n");
}
