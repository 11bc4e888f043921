// What the suite "postgres" prints: ratios beside their targets, then the figures that they come from.

import {
  answersPerSecond,
  judgedRatios,
  latencyTable,
  type MeasuredRounds,
  ratesTable,
} from "./load-report.ts";
import { batchSizeTable, partyCoresTable, partyUsTable } from "./party-report.ts";
import { type JudgedFigure, judgedTable } from "./targets.ts";

/** What was measured: our server beside others, and several of ours behind one nginx. */
export interface PostgresFigures {
  readonly peers: MeasuredRounds;
  readonly fleet: MeasuredRounds;
}

/** The ratios that the project is judged by, and what more servers gain. */
export function judge({ peers, fleet }: PostgresFigures): JudgedFigure[] {
  const [direct = "", one = "", ...more] = fleet.contenders;
  const gains = more.map((several) => [several, one] as const);
  return [
    ...judgedRatios(peers.measurements, peers.connections, {
      name: "creates, times Express + pg's",
      pair: ["plantstore", "express + pg"],
      figureOf: answersPerSecond,
      targets: { atLeast: { 64: 6, 256: 10 } },
    }),
    ...judgedRatios(peers.measurements, peers.connections, {
      name: "creates, times pgbench's",
      pair: ["plantstore", "pgbench"],
      figureOf: answersPerSecond,
      targets: { atLeast: { 64: 2, 256: 2 } },
    }),
    ...[[one, direct] as const, ...gains].flatMap((pair) =>
      judgedRatios(fleet.measurements, fleet.connections, {
        name: `creates of ${pair[0]}, times ${pair[1]}`,
        pair,
        figureOf: answersPerSecond,
      }),
    ),
  ];
}

/** All tables, in Markdown. */
export function postgresTables(figures: PostgresFigures): string {
  const tables = Object.values(figures).flatMap((rounds: MeasuredRounds) => {
    const busiest = { ...rounds, connections: Math.max(...rounds.connections) };
    return [
      ratesTable(rounds),
      latencyTable(rounds),
      batchSizeTable(busiest),
      partyUsTable(busiest),
      partyCoresTable(busiest),
    ];
  });
  return [judgedTable(judge(figures)), ...tables].join("\n\n");
}
