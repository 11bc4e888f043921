// What the suite "console" prints.

import type { IndexTimes, ReadTimes } from "./console-reads.ts";
import { cpuUsPerRequest } from "./cpu-report.ts";
import { answersPerSecond, judgedRatios, ratesTable } from "./load-report.ts";
import type { Measurement } from "./rounds.ts";
import { spreadText } from "./spread.ts";
import { figure, markdownTable } from "./table.ts";
import { type JudgedFigure, judgedTable } from "./targets.ts";

export interface ConsoleFigures {
  readonly reads: readonly ReadTimes[];
  readonly indexTimes: readonly IndexTimes[];
  /** Creates with each index, and with none. */
  readonly indexCosts: readonly Measurement[];
  /** Creates with a console open and without. */
  readonly openConsole: readonly Measurement[];
  readonly connections: readonly number[];
}

const readMsMax = 50;
const openConsoleRatioMin = 0.98;

export function judgeConsole({
  reads,
  indexCosts,
  openConsole,
  connections,
}: ConsoleFigures): JudgedFigure[] {
  const withIndexes = namesOf(indexCosts).filter((name) => name !== "no index");
  return [
    ...reads
      .filter(({ store, read }) => store.endsWith("with all indexes") || !/name|tag/.test(read))
      .map(({ store, read, ms }) => ({
        name: `${read}, ms: ${store}`,
        spread: ms,
        target: { atMost: readMsMax },
      })),
    ...judgedRatios(openConsole, connections, {
      name: "creates with a console open, of those with none",
      pair: ["a console is open", "nobody looks"],
      figureOf: answersPerSecond,
      targets: { atLeast: { 64: openConsoleRatioMin } },
    }),
    ...judgedRatios(openConsole, connections, {
      name: "the server's processor time a create with a console open, times that with none",
      pair: ["a console is open", "nobody looks"],
      figureOf: cpuUsPerRequest,
    }),
    ...withIndexes.flatMap((name) => [
      ...judgedRatios(indexCosts, connections, {
        name: `creates with ${name}, of those without an index`,
        pair: [name, "no index"],
        figureOf: answersPerSecond,
      }),
      ...judgedRatios(indexCosts, connections, {
        name: `processor time a create with ${name}, times that without an index`,
        pair: [name, "no index"],
        figureOf: cpuUsPerRequest,
      }),
    ]),
  ];
}

export function consoleTables(figures: ConsoleFigures): string {
  const { reads, indexTimes, indexCosts, openConsole, connections } = figures;
  const stores = [...new Set(reads.map(({ store }) => store))];
  const kinds = [...new Set(reads.map(({ read }) => read))];
  const readRows = kinds.map((kind) => [
    kind,
    ...stores.map((store) => {
      const times = reads.find((one) => one.store === store && one.read === kind);
      return times === undefined ? "" : spreadText(times.ms, figure);
    }),
  ]);
  const indexRows = indexTimes.map(({ engine, index, createSeconds }) => [
    `${index}, ${engine}`,
    figure(createSeconds),
  ]);
  const rates = (measurements: readonly Measurement[]) =>
    ratesTable({ measurements, connections, contenders: namesOf(measurements) });
  return [
    judgedTable(judgeConsole(figures)),
    markdownTable(["ms, median (range)", ...stores], readRows),
    markdownTable(["making an index", "seconds"], indexRows),
    rates(indexCosts),
    rates(openConsole),
  ].join("\n\n");
}

function namesOf(measurements: readonly Measurement[]): string[] {
  return [...new Set(measurements.map(({ contender }) => contender))];
}
