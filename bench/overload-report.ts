// What the suite "overload" prints: what is left of the peak beside its target, then the figures.

import type { CpuTime, CpuUse } from "./accounting.ts";
import type { Quantiles } from "./generated-load.ts";
import { goodputOf, type OverloadRound, type OverloadRun, overloadFactor } from "./overload-rounds.ts";
import { spreadOf, spreadText } from "./spread.ts";
import { figure, markdownTable } from "./table.ts";
import { type JudgedFigure, judgedTable } from "./targets.ts";

/** What was measured of one server. */
export interface OverloadFigures {
  readonly name: string;
  readonly rounds: readonly OverloadRound[];
  /** After all runs. */
  readonly residentMb: number;
}

const goodputMin = 0.9;
const p99MsMax = 1_000;
const residentMbMax = 200;

/** The figures that the project is judged by. */
export function judge(figures: readonly OverloadFigures[]): JudgedFigure[] {
  return figures.flatMap(({ name, rounds, residentMb }) => [
    {
      name: `${name}: goodput at ${overloadFactor} times the peak, of the peak`,
      spread: spreadOf(rounds.map(({ peak, overload }) => goodputOf(overload) / goodputOf(peak))),
      target: { atLeast: goodputMin },
    },
    {
      name: `${name}: p99 of the accepted from the schedule, ms`,
      spread: spreadOf(rounds.map(({ overload }) => overload.acceptedFromSchedule.p99Ms)),
      target: { atMost: p99MsMax },
    },
    {
      name: `${name}: resident memory, MB`,
      spread: spreadOf([residentMb]),
      target: { atMost: residentMbMax },
    },
  ]);
}

/** All tables, in Markdown. */
export function overloadTables(figures: readonly OverloadFigures[]): string {
  const rows = Object.entries(rowsByName).map(([name, cellOf]) => [
    name,
    ...figures.map(({ rounds }) => cellOf(rounds)),
  ]);
  const head = [`peak, and ${overloadFactor} times that`, ...figures.map(({ name }) => name)];
  return [judgedTable(judge(figures)), markdownTable(head, rows)].join("\n\n");
}

/** How each row's cell is made of a server's rounds. */
const rowsByName: Readonly<Record<string, (rounds: readonly OverloadRound[]) => string>> = {
  "peak: connections, closed loop": ([round]) => figure(round?.peak.plan.connections ?? 0),
  "peak: accepted a second": of("peak", goodputOf),
  "peak: p50 / p99 in ms": latency("peak", (run) => run.acceptedFromSending),
  "overload: connections": ([round]) => figure(round?.overload.plan.connections ?? 0),
  "overload: offered a second": of("overload", perSecond("scheduled")),
  "overload: sent a second, for which a connection was free": of("overload", perSecond("sent")),
  "overload: accepted a second": of("overload", goodputOf),
  "overload: refused a second": of("overload", perSecond("refused")),
  "accepted: p50 / p99 in ms from the schedule": latency("overload", (run) => run.acceptedFromSchedule),
  "accepted: p50 / p99 in ms from sending": latency("overload", (run) => run.acceptedFromSending),
  "refused: p50 / p99 in ms from sending": latency("overload", (run) => run.refusedFromSending),
  "sent behind the schedule: p50 / p99 in ms": latency("overload", (run) => run.behindSchedule),
  "server: µs of processor time a create, at the peak": (rounds) => spread(rounds.map(usPerCreate)),
  "server: µs of processor time a refusal": (rounds) =>
    rounds.every(({ overload }) => overload.whole.refused > 0) ? spread(rounds.map(usPerRefusal)) : "",
  "peak: processors busy, server": of("peak", (run) => processorsBusy(run, run.cpu.total)),
  "peak: processors busy, generator": of("peak", (run) => processorsBusy(run, run.loadCpu)),
  "overload: processors busy, server": of("overload", (run) => processorsBusy(run, run.cpu.total)),
  "overload: processors busy, generator": of("overload", (run) => processorsBusy(run, run.loadCpu)),
};

type Phase = keyof OverloadRound;
type Cell = (rounds: readonly OverloadRound[]) => string;

function of(phase: Phase, figureOf: (run: OverloadRun) => number): Cell {
  return (rounds) => spread(rounds.map((round) => figureOf(round[phase])));
}

function latency(phase: Phase, quantilesOf: (run: OverloadRun) => Quantiles | undefined): Cell {
  return (rounds) => {
    const quantiles = rounds.map((round) => quantilesOf(round[phase])).filter((each) => each !== undefined);
    if (quantiles.length === 0) return "";
    const [p50, p99] = [quantiles.map(({ p50Ms }) => p50Ms), quantiles.map(({ p99Ms }) => p99Ms)];
    return `${figure(spreadOf(p50).median)} / ${figure(spreadOf(p99).median)}`;
  };
}

function perSecond(count: keyof OverloadRun["measured"]): (run: OverloadRun) => number {
  return ({ measured, plan }) => measured[count] / plan.seconds;
}

function processorsBusy({ whole }: OverloadRun, cpu: CpuTime): number {
  return sum(cpu) / 1e6 / whole.seconds;
}

function usPerCreate({ peak }: OverloadRound): number {
  return usOf(peak.cpu) / peak.whole.accepted;
}

/** What is left of the server's time once its creates have had what they took at the peak. */
function usPerRefusal(round: OverloadRound): number {
  const { cpu, whole } = round.overload;
  return (usOf(cpu) - whole.accepted * usPerCreate(round)) / whole.refused;
}

function usOf({ total }: CpuUse): number {
  return sum(total);
}

function sum({ userUs, systemUs }: CpuTime): number {
  return userUs + systemUs;
}

function spread(values: readonly number[]): string {
  return spreadText(spreadOf(values), figure);
}
