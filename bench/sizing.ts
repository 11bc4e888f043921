// The table of docs/guides/run-an-inventory.md that says how large a service must be, from the committed results.

import type { Result } from "./result.ts";
import { metrics } from "./suite.ts";
import { formatNumber } from "./summary.ts";

type Results = ReadonlyMap<string, Result>;

interface Row {
  readonly title: string;
  /** Of each engine: the suite, the load and the subject, and the metric. */
  readonly sqlite: Figure;
  readonly postgres: Figure;
}

type Figure = readonly [suite: string, load: string, subject: string, metric: string];

const [many, most] = ["64 connections", "256 connections"];

const rows: readonly Row[] = [
  ...[many, most].map((load) => onBoth(`Creates a second, ${load}`, load, metrics.creates)),
  onBoth(`p99 at ${most}, ms`, most, metrics.p99),
  onBoth(`Processor time of a create at ${most}, µs`, most, metrics.cpu),
  onBoth(`Memory of the server at ${most}, MB`, most, metrics.memory),
  {
    title: "Disk of a plant with 40 bytes of name and tag, random ids, bytes",
    sqlite: ["footprint", "random ids", "SQLite", "bytes/plant"],
    postgres: ["footprint", "random ids", "PostgreSQL", "bytes/plant"],
  },
];

function onBoth(title: string, load: string, metric: string): Row {
  const subject = "plantstore";
  return {
    title,
    sqlite: ["create", load, subject, metric],
    postgres: ["postgres", load, subject, metric],
  };
}

/** The guide with the medians of the results in its table. Throws if one was not measured. */
export function renderSizing(guide: string, results: Results): string {
  return rows.reduce((text, { title, sqlite, postgres }) => {
    const line = `| ${title} | ${median(results, sqlite)} | ${median(results, postgres)} |`;
    const old = new RegExp(`^\\| ${RegExp.escape(title)} \\|.*$`, "m");
    if (!old.test(text)) throw new Error(`the guide has no row "${title}"`);
    return text.replace(old, line);
  }, guide);
}

function median(results: Results, [suite, load, subject, metric]: Figure): string {
  const series = results.get(suite)?.scenarios.flatMap((scenario) => scenario.series) ?? [];
  const summary = series.find((one) => one.load === load && one.subject === subject)?.metrics[metric];
  if (summary === undefined) throw new Error(`${suite} has no ${metric} of ${subject} with ${load}`);
  return formatNumber(summary.median);
}
