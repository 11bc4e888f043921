// Shows charts of the last five minutes or hour: creates, latency and errors.

import type { Sample } from "../reads/recent-samples.ts";
import { Chart, type ChartProperties, type TimeAxis } from "./chart.ts";
import { formatCount, formatInteger, formatMs, formatNumber } from "./formats.ts";
import { useState } from "./library.js";
import { html } from "./markup.ts";
import type { History } from "./samples.ts";
import { collection } from "./shown-contract.ts";

type RangeName = keyof typeof ranges;

type Samples = readonly Sample[];

const ranges = {
  "5 min": { seconds: 300, bucketSeconds: 10, bucket: "10 s", name: "5 minutes" },
  "1 h": { seconds: 3_600, bucketSeconds: 60, bucket: "minute", name: "hour" },
};

/** CSS variables: one for each code; all further codes share the last. */
const errorColours = ["--danger", "--line-1", "--line-5", "--line-3", "--line-4"];
const restColour = "--line-2";

/** The section with all charts. */
export function Charts({ history }: { history: History }) {
  const [range, setRange] = useState<RangeName>("5 min");
  const { axis, buckets } = bucketsOf(history, range);
  // A sample ends after five seconds: before the first one nothing is known.
  const loading = history.samples.length === 0 ? { empty: "Loading…" } : {};
  return html`
    <section class="card activity" aria-labelledby="activity-title">
      <header>
        <h2 id="activity-title">Activity</h2>
        <div class="segments" role="group" aria-label="Time range">
          ${Object.entries(ranges).map(
            ([name, { name: spoken }]) => html`
              <button
                type="button"
                aria-label=${`Last ${spoken}`}
                aria-pressed=${name === range}
                onClick=${() => setRange(name as RangeName)}
              >
                ${name}
              </button>
            `,
          )}
        </div>
      </header>
      <div class="charts">
        ${chartsOf(buckets, range).map((chart) => html`<${Chart} key=${chart.title} ...${chart} ...${loading} axis=${axis} />`)}
      </div>
    </section>
  `;
}

/** The samples in buckets, which begin at multiples of their length: new samples move none. */
function bucketsOf({ first, samples, sampleMs }: History, range: RangeName) {
  const { seconds, bucketSeconds } = ranges[range];
  const sampleSeconds = sampleMs / 1_000;
  const end = samples.length === 0 ? Date.now() / 1_000 : (first + samples.length) * sampleSeconds;
  const max = Math.ceil(end / bucketSeconds) * bucketSeconds;
  const axis: TimeAxis = { times: [], min: max - seconds, max };
  const buckets: Samples[] = [];
  const numbers = Map.groupBy(samples.keys(), (at) =>
    Math.floor(((first + at) * sampleSeconds) / bucketSeconds),
  );
  for (const [number, own] of numbers) {
    if (number * bucketSeconds < axis.min) continue;
    axis.times.push(number * bucketSeconds);
    buckets.push(own.flatMap((at) => samples[at] ?? []));
  }
  return { axis, buckets };
}

function chartsOf(buckets: readonly Samples[], rangeName: RangeName): ChartProperties[] {
  const { bucket, name } = ranges[rangeName];
  const nothing = `in the last ${name}`;
  const sums = (count: (sample: Sample) => number) => buckets.map((samples) => sumOf(samples.map(count)));
  /** null where no sample has a value. */
  const values = (value: (sample: Sample) => number | null, reduce: (values: number[]) => number) =>
    buckets.map((samples) => {
      const found = samples.map(value).filter((each) => typeof each === "number");
      return found.length === 0 ? null : reduce(found);
    });
  const meanOf = (found: number[]) => sumOf(found) / found.length;
  const worstOf = (found: number[]) => Math.max(...found);
  const created = sumOf(buckets.flat().map((sample) => sample.created + sample.imported));
  const medians = values(({ p50Ms }) => p50Ms, meanOf);
  const median = medians.findLast((ms) => ms !== null);
  const errors = sumOf(buckets.flat().flatMap((sample) => Object.values(sample.errors)));
  return [
    {
      title: "Creates",
      caption: `${formatInteger(created)} created`,
      unit: unitOf(collection.many, bucket),
      empty: `No ${collection.one} was created ${nothing}.`,
      kind: "bars",
      format: formatNumber,
      lines: [
        { label: "created", colour: "--accent", values: sums((sample) => sample.created) },
        { label: "imported", colour: "--line-4", values: sums(({ imported }) => imported) },
        { label: "duplicates", colour: "--line-2", values: sums(({ unchanged }) => unchanged) },
      ],
    },
    {
      title: "Create latency",
      caption: median === undefined ? "" : `${formatMs(median)} median`,
      unit: "milliseconds",
      empty: `No create to measure ${nothing}.`,
      kind: "lines",
      format: formatMs,
      lines: [
        { label: "p50", colour: "--accent", values: medians },
        { label: "p99", colour: "--line-1", values: values(({ p99Ms }) => p99Ms, worstOf) },
      ],
    },
    {
      title: "Errors by code",
      caption: formatCount(errors, "error"),
      unit: unitOf("errors", bucket),
      empty: `No errors ${nothing}.`,
      kind: "bars",
      format: formatNumber,
      lines: topCodes(buckets.flat()).map(({ label, colour, isOf }) => ({
        label,
        colour,
        values: sums((sample) =>
          sumOf(Object.entries(sample.errors).map(([code, count]) => (isOf(code) ? count : 0))),
        ),
      })),
    },
  ];
}

/** A longer label of an axis would be cut. */
const unitCharactersMax = 18;

function unitOf(counted: string, per: string) {
  const unit = `${counted} per ${per}`;
  return unit.length > unitCharactersMax ? `per ${per}` : unit;
}

function sumOf(values: number[]) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The most frequent codes with a colour each, and one line for all others. */
function topCodes(samples: Samples) {
  const totals: Record<string, number> = {};
  for (const sample of samples)
    for (const [code, count] of Object.entries(sample.errors)) totals[code] = (totals[code] ?? 0) + count;
  const byCount = Object.keys(totals).sort((one, other) => (totals[other] ?? 0) - (totals[one] ?? 0));
  const own = new Set(byCount.slice(0, errorColours.length));
  const lines = [...own].sort().map((code, index) => ({
    label: code,
    colour: errorColours[index] ?? restColour,
    isOf: (other: string) => other === code,
  }));
  const rest = { label: "others", colour: restColour, isOf: (code: string) => !own.has(code) };
  return byCount.length > own.size ? [...lines, rest] : lines;
}
