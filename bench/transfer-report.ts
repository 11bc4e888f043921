// What the suite "transfer" prints: rates beside those of the engines' own tools, and memory.

import { spreadOf, spreadText } from "./spread.ts";
import { figure, markdownTable, whole } from "./table.ts";
import { type JudgedFigure, judgedTable } from "./targets.ts";
import type { PlaceMaker } from "./transfer-places.ts";
import type { Direction, Mover, TransferRun } from "./transfer-runs.ts";

/** What was measured: rates in rounds, and memory for few plants and for many. */
export interface TransferFigures {
  readonly runs: readonly TransferRun[];
  readonly memoryRuns: readonly TransferRun[];
}

const directions: readonly Direction[] = ["import", "export"];
const formats = ["csv", "ndjson"] as const;

/** How much of a tool's rate ours is to reach. */
const targets: Readonly<Record<string, number>> = {
  "SQLite import": 0.5,
  "PostgreSQL import": 0.4,
  "SQLite export": 0.7,
  "PostgreSQL export": 0.7,
};

/** All rates of ours over those of the tool, round by round. */
export function judge({ runs }: TransferFigures, places: readonly PlaceMaker[]): JudgedFigure[] {
  return places.flatMap(({ engine, tools }) =>
    directions.flatMap((direction) =>
      formats.map((format) => ({
        name: `${engine} ${direction}, ${format.toUpperCase()}, of ${tools[direction]}'s rate`,
        spread: spreadOf(
          runsOf(runs, engine, direction, format).map(({ seconds, round }) => {
            const tool = runsOf(runs, engine, direction, "tool").find((run) => run.round === round);
            if (tool === undefined) throw new Error(`the tool was not measured in round ${round}`);
            return tool.seconds / seconds;
          }),
        ),
        target: { atLeast: targets[`${engine} ${direction}`] ?? 1 },
      })),
    ),
  );
}

/** All tables, in Markdown. */
export function transferTables(figures: TransferFigures, places: readonly PlaceMaker[]): string {
  return [
    judgedTable(judge(figures, places)),
    ratesTable(figures.runs, places),
    processorTable(figures.runs, places),
    memoryTable(figures.memoryRuns, places),
  ].join("\n\n");
}

function ratesTable(runs: readonly TransferRun[], places: readonly PlaceMaker[]): string {
  const rate = ({ plants, seconds }: TransferRun) => plants / seconds;
  return moversTable("plants a second", runs, places, rate, whole);
}

function processorTable(runs: readonly TransferRun[], places: readonly PlaceMaker[]): string {
  const us = ({ plants, cpu }: TransferRun) => (cpu.userUs + cpu.systemUs) / plants;
  return moversTable("µs of the command's own processor time a plant", runs, places, us, figure);
}

/** A figure of every mover, for each engine and direction. */
function moversTable(
  title: string,
  runs: readonly TransferRun[],
  places: readonly PlaceMaker[],
  figureOf: (run: TransferRun) => number,
  text: (value: number) => string,
): string {
  const rows = places.flatMap(({ engine }) =>
    directions.map((direction) => [
      `${engine} ${direction}`,
      ...[...formats, "tool" as const].map((mover) =>
        spreadText(spreadOf(runsOf(runs, engine, direction, mover).map(figureOf)), text),
      ),
    ]),
  );
  return markdownTable([title, "plantstore, CSV", "plantstore, NDJSON", "its tool"], rows);
}

function memoryTable(runs: readonly TransferRun[], places: readonly PlaceMaker[]): string {
  const counts = [...new Set(runs.map(({ plants }) => plants))];
  const rows = places.flatMap(({ engine }) =>
    directions.flatMap((direction) =>
      formats.map((format) => [
        `${engine} ${direction}, ${format.toUpperCase()}`,
        ...counts.map((count) => {
          const peaks = runsOf(runs, engine, direction, format).filter(({ plants }) => plants === count);
          return spreadText(spreadOf(peaks.map(({ peakBytes }) => peakBytes / 1e6)), figure);
        }),
      ]),
    ),
  );
  return markdownTable(["peak resident MB", ...counts.map((count) => `${whole(count)} plants`)], rows);
}

function runsOf(
  runs: readonly TransferRun[],
  engine: string,
  direction: Direction,
  mover: Mover,
): TransferRun[] {
  return runs.filter((run) => run.engine === engine && run.direction === direction && run.mover === mover);
}
