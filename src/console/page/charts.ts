// Shows charts of the last minutes: creates, latency and errors.

import type { RecentSamples, Sample } from "../reads/recent-samples.ts";
import { Chart, type ChartProperties } from "./chart.ts";
import { formatCount, formatInteger, formatMs } from "./formats.ts";
import { html } from "./markup.ts";
import { collection } from "./shown-contract.ts";

export type History = ReturnType<RecentSamples["list"]>;

/** CSS variables: one for each code; all further codes share the last. */
const errorColours = ["--danger", "--line-1", "--line-5", "--line-3", "--line-4"];
const restColour = "--line-2";

/** The section with all charts. `history` is null before the first is loaded. */
export function Charts({ history }: { history: History | null }) {
  return html`
    <section class="card activity" aria-labelledby="activity-title">
      <header><h2 id="activity-title">Activity</h2></header>
      <div class="charts">
        ${history !== null && chartsOf(history).map((chart) => html`<${Chart} key=${chart.title} ...${chart} />`)}
      </div>
    </section>
  `;
}

function chartsOf({ startsAtMs, samples, sampleMs, samplesMax }: History): ChartProperties[] {
  const nothing = `in the last ${(samplesMax * sampleMs) / 60_000} minutes`;
  const unit = `per ${sampleMs / 1_000} s`;
  const axis = { startsAtMs, stepMs: sampleMs, slots: samplesMax };
  const created = sumOf(samples.map((sample) => sample.created + sample.imported));
  const medians = samples.map(({ p50Ms }) => p50Ms);
  const median = medians.findLast((ms) => ms !== null);
  const errors = sumOf(samples.map((sample) => sumOf(Object.values(sample.errors))));
  return [
    {
      axis,
      title: "Creates",
      caption: `${formatInteger(created)} created`,
      unit,
      empty: `No ${collection.one} was created ${nothing}.`,
      kind: "bars",
      format: formatInteger,
      lines: [
        { label: "created", colour: "--accent", values: samples.map((sample) => sample.created) },
        { label: "imported", colour: "--line-4", values: samples.map(({ imported }) => imported) },
        { label: "duplicates", colour: "--line-2", values: samples.map(({ unchanged }) => unchanged) },
      ],
    },
    {
      axis,
      title: "Create latency",
      caption: median === undefined ? "" : `${formatMs(median)} median`,
      unit: "",
      empty: `No create to measure ${nothing}.`,
      kind: "lines",
      format: formatMs,
      lines: [
        { label: "p50", colour: "--accent", values: medians },
        { label: "p99", colour: "--line-1", values: samples.map(({ p99Ms }) => p99Ms) },
      ],
    },
    {
      axis,
      title: "Errors by code",
      caption: formatCount(errors, "error"),
      unit,
      empty: `No errors ${nothing}.`,
      kind: "bars",
      format: formatInteger,
      lines: errorLines(samples),
    },
  ];
}

function sumOf(values: readonly number[]) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The most frequent codes with a colour each, and one line for all others. */
function errorLines(samples: readonly Sample[]): ChartProperties["lines"] {
  const totals: Record<string, number> = {};
  for (const sample of samples)
    for (const [code, count] of Object.entries(sample.errors)) totals[code] = (totals[code] ?? 0) + count;
  const byCount = Object.keys(totals).sort((one, other) => (totals[other] ?? 0) - (totals[one] ?? 0));
  const [own, rest] = [byCount.slice(0, errorColours.length), byCount.slice(errorColours.length)];
  const valuesOf = (codes: readonly string[]) =>
    samples.map(({ errors }) => sumOf(codes.map((code) => errors[code] ?? 0)));
  return [
    ...own.sort().map((code, index) => ({
      label: code,
      colour: errorColours[index] ?? restColour,
      values: valuesOf([code]),
    })),
    ...(rest.length > 0 ? [{ label: "others", colour: restColour, values: valuesOf(rest) }] : []),
  ];
}
