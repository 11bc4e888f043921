// What the suite "create" prints: ratios beside their targets, then the figures that they come from.

import { cpuTable, cpuUsPerRequest } from "./cpu-report.ts";
import {
  answersPerSecond,
  judgedRatios,
  latencyTable,
  type MeasuredRounds,
  ratesTable,
} from "./load-report.ts";
import { spreadOf } from "./spread.ts";
import { type JudgedFigure, judgedTable } from "./targets.ts";

/** What was measured, by contenders of these names. */
export interface CreateFigures extends MeasuredRounds {
  /** Of our server, after all runs. */
  readonly residentMb: number;
}

/** Numbers of connections at which processor time is compared. */
const cpuConnections = [64, 256];

const residentMbMax = 200;

/** The ratios that the project is judged by. */
export function judge({ measurements, connections, residentMb }: CreateFigures): JudgedFigure[] {
  return [
    ...judgedRatios(measurements, connections, {
      name: "creates, of nginx's static answers",
      pair: ["plantstore", "nginx"],
      figureOf: answersPerSecond,
      targets: { atLeast: { 64: 0.45, 256: 0.65 } },
    }),
    ...judgedRatios(measurements, connections, {
      name: "creates, times Fastify's",
      pair: ["plantstore", "fastify"],
      figureOf: answersPerSecond,
      targets: { atLeast: { 256: 12 } },
    }),
    ...judgedRatios(measurements, cpuConnections, {
      name: "processor time, times nginx's",
      pair: ["plantstore", "nginx"],
      figureOf: cpuUsPerRequest,
      targets: { atMost: { 256: 2.2 } },
    }),
    { name: "resident memory, MB", spread: spreadOf([residentMb]), target: { atMost: residentMbMax } },
  ];
}

/** All tables, in Markdown. */
export function createTables(figures: CreateFigures): string {
  const { measurements, contenders } = figures;
  return [
    judgedTable(judge(figures)),
    ratesTable(figures),
    latencyTable(figures),
    cpuTable(
      measurements,
      contenders.filter((name) => name !== "fastify"),
      cpuConnections,
    ),
  ].join("\n\n");
}
