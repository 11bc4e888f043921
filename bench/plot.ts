// The requests of each subject as bars, in an SVG that is readable on light and dark pages.

import type { Result, ScenarioResult, Series } from "./result.ts";
import { metrics } from "./suite.ts";
import { formatNumber, type Summary } from "./summary.ts";

const width = 860;
const names = 138;
const panelWidth = 216;
const panelGap = 24;
const top = 72;
const rowHeight = 24;
const barHeight = 12;
/** For the figure next to a bar. */
const figureWidth = 52;
/** A longer bar of a constant is cut at this multiple of the longest other one. */
const cutFrom = 3;

const style = `
  :root { color-scheme: light dark; }
  text { font: 12px system-ui, sans-serif; fill: #333; }
  .title { font-weight: 600; }
  .axis { stroke: #bbb; }
  .range { stroke: #333; stroke-width: 1.5; }
  .own { fill: #1f6feb; }
  .stored { fill: #8c959f; }
  .constant { fill: none; stroke: #8c959f; stroke-dasharray: 3 2; }
  .page { fill: #fff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ccc; }
    .axis { stroke: #555; }
    .range { stroke: #ddd; }
    .own { fill: #58a6ff; }
    .page { fill: #0d1117; }
  }`;

/** What a plot shows. */
interface PlotOptions {
  /** Such as "Creates". */
  readonly requests: string;
  readonly metric: string;
  /** All by default. */
  readonly loads?: readonly string[];
  /** The subjects that are this server. */
  readonly own: readonly string[];
  readonly legend: readonly (readonly [kind: string, meaning: string])[];
}

export function plotCreates(result: Result): string {
  return plot(result, {
    requests: "Creates",
    metric: metrics.creates,
    own: ["plantstore"],
    legend: [
      ["own", "this server"],
      ["stored", "other servers, as durable"],
      ["constant", "a constant, no store; open: cut"],
    ],
  });
}

export function plotOperations(result: Result): string {
  return plot(result, {
    requests: "Requests",
    metric: "requests/s",
    loads: ["get", "list of 100", "change"].map((kind) => `${kind}, 64 connections`),
    own: ["sqlite", "postgres"],
    legend: [
      ["own", "this server, on each engine"],
      ["stored", "others on SQLite"],
    ],
  });
}

/** Bars of requests/s, a panel for each load with its own scale, the fastest subject first. */
function plot({ rounds, scenarios }: Result, options: PlotOptions): string {
  const { requests, own, legend: entries } = options;
  const [scenario] = scenarios;
  if (scenario === undefined) throw new Error("a result without a scenario has no plot");
  const loads = options.loads ?? [...new Set(scenario.series.map(({ load }) => load))];
  const barsOf = (load: string) => ofLoad(scenario, load, options.metric);
  const subjects = loads
    .flatMap(barsOf)
    .filter(({ load }) => load === loads.at(-1))
    .toSorted((one, other) => other.rate.median - one.rate.median)
    .map(({ subject }) => subject);
  const axisEnd = top + subjects.length * rowHeight;
  const height = axisEnd + 40;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${requests} a second by ${subjects.join(", ")}, over ${loads.join(", ")}</title>`,
    `<style>${style}</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    text(
      12,
      24,
      `${requests} a second, medians of ${rounds} rounds; lines from the lowest to the highest`,
      "title",
    ),
    ...subjects.map((subject, row) => text(names - 8, middleOf(row) + 4, subject, "", "end")),
    ...loads.flatMap((load, index) => {
      const x = names + index * (panelWidth + panelGap);
      return [
        text(x, top - 14, load, "title"),
        `<line class="axis" x1="${x}" x2="${x}" y1="${top - 4}" y2="${axisEnd}"/>`,
        ...panel((subject) => kindOf(scenario, subject, own), barsOf(load), subjects, x),
      ];
    }),
    ...legend(entries, axisEnd + 24),
    "</svg>\n",
  ].join("\n");
}

interface Bar {
  readonly load: string;
  readonly subject: string;
  readonly rate: Summary;
}

function ofLoad({ series }: ScenarioResult, load: string, metric: string): Bar[] {
  return series
    .filter((one) => one.load === load)
    .flatMap(({ load, subject, metrics: { [metric]: rate } }: Series) =>
      rate === undefined ? [] : [{ load, subject, rate }],
    );
}

function panel(
  kind: (subject: string) => string,
  bars: readonly Bar[],
  subjects: readonly string[],
  x: number,
): string[] {
  const stored = bars.filter(({ subject }) => kind(subject) !== "constant").map(({ rate }) => rate.max);
  const scaleMax = Math.min(Math.max(...bars.map(({ rate }) => rate.max)), cutFrom * Math.max(...stored));
  const at = (value: number) => x + (Math.min(value, scaleMax) / scaleMax) * (panelWidth - figureWidth);
  return bars.flatMap(({ subject, rate: { median, min, max } }) => {
    const y = middleOf(subjects.indexOf(subject));
    const [upper, lower] = [y - barHeight / 2, y + barHeight / 2];
    const [start, end] = [at(min).toFixed(1), at(max).toFixed(1)];
    const isTruncated = median > scaleMax;
    // An end that is left open shows that the bar is cut.
    const outline = isTruncated
      ? `M${end},${upper}H${x}V${lower}H${end}`
      : `M${x},${upper}H${at(median).toFixed(1)}V${lower}H${x}Z`;
    return [
      `<path class="${kind(subject)}" d="${outline}"/>`,
      `<line class="range" x1="${start}" x2="${end}" y1="${y}" y2="${y}"/>`,
      text(at(max) + 6, y + 4, formatNumber(median)),
    ];
  });
}

/** A subject whose store was not audited has none. */
function kindOf({ audits }: ScenarioResult, subject: string, own: readonly string[]): string {
  if (own.includes(subject)) return "own";
  return audits.some(({ store }) => store === subject) ? "stored" : "constant";
}

function legend(entries: PlotOptions["legend"], y: number): string[] {
  return entries.flatMap(([kind, meaning], index) => {
    const x = names + index * (panelWidth + panelGap);
    return [
      `<rect class="${kind}" x="${x}" y="${y - 10}" width="${barHeight}" height="${barHeight}"/>`,
      text(x + barHeight + 6, y, meaning),
    ];
  });
}

function middleOf(row: number): number {
  return top + (row + 0.5) * rowHeight;
}

function text(x: number, y: number, content: string, kind = "", anchor = "start"): string {
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}">${Bun.escapeHTML(content)}</text>`;
}
