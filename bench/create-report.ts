// What the suite "create" prints: ratios beside their targets, then the figures that they come from.

import { cpuTable, cpuUsPerRequest } from "./cpu-report.ts";
import { type Measurement, ratios, runsOf } from "./rounds.ts";
import { spreadOf, spreadText } from "./spread.ts";
import { figure, markdownTable, whole } from "./table.ts";
import { type JudgedFigure, judgedTable } from "./targets.ts";

/** What was measured, by contenders of these names. */
export interface CreateFigures {
  readonly measurements: readonly Measurement[];
  readonly connections: readonly number[];
  readonly contenders: readonly string[];
  /** Of our server, after all runs. */
  readonly residentMb: number;
}

/** Numbers of connections at which processor time is compared. */
const cpuConnections = [64, 256];

const atLeastOfNginx: Readonly<Record<number, number>> = { 64: 0.45, 256: 0.65 };
const atLeastTimesFastify: Readonly<Record<number, number>> = { 256: 12 };
const atMostCpuOfNginx: Readonly<Record<number, number>> = { 256: 2.2 };
const residentMbMax = 200;

/** The ratios that the project is judged by. */
export function judge({ measurements, connections, residentMb }: CreateFigures): JudgedFigure[] {
  const rate = ({ perSecond }: Measurement) => perSecond;
  const figures = (
    name: string,
    counts: readonly number[],
    peer: string,
    figureOf: (run: Measurement) => number,
    targetOf: (count: number) => JudgedFigure["target"],
  ): JudgedFigure[] =>
    counts.map((count) => ({
      name: `${name}, ${connectionsText(count)}`,
      spread: spreadOf(ratios(measurements, ["plantstore", peer], count, figureOf)),
      target: targetOf(count),
    }));
  return [
    ...figures("creates, of nginx's static answers", connections, "nginx", rate, (count) =>
      atLeast(atLeastOfNginx[count]),
    ),
    ...figures("creates, times Fastify's", connections, "fastify", rate, (count) =>
      atLeast(atLeastTimesFastify[count]),
    ),
    ...figures("processor time, times nginx's", cpuConnections, "nginx", cpuUsPerRequest, (count) =>
      atMost(atMostCpuOfNginx[count]),
    ),
    { name: "resident memory, MB", spread: spreadOf([residentMb]), target: atMost(residentMbMax) },
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

function ratesTable({ measurements, connections, contenders }: CreateFigures): string {
  const rows = connections.map((count) => [
    connectionsText(count),
    ...contenders.map((contender) => {
      const rates = runsOf(measurements, contender, count).map(({ perSecond }) => perSecond);
      return spreadText(spreadOf(rates), whole);
    }),
  ]);
  return markdownTable(["answers a second", ...contenders], rows);
}

function latencyTable({ measurements, connections, contenders }: CreateFigures): string {
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

function atLeast(value: number | undefined): JudgedFigure["target"] {
  return value === undefined ? undefined : { atLeast: value };
}

function atMost(value: number | undefined): JudgedFigure["target"] {
  return value === undefined ? undefined : { atMost: value };
}
