// Charts of the last 5 minutes, hour or day: creates, latency, batch size and errors.

import type { Sample } from "../recent-samples.ts";
import { get } from "./api.ts";
import { Chart, type ChartProperties, type TimeRange } from "./chart.ts";
import { formatNumber, html } from "./format.ts";
import { useEffect, useState } from "./library.js";
import { appendSamples, emptyHistory, type History } from "./samples.ts";
import { formatMs } from "./units.ts";

type RangeName = keyof typeof ranges;

type Value = (sample: Partial<Sample>) => number | null | undefined;

const ranges = {
  "5 min": { seconds: 300, isMinutes: false, name: "5 minutes" },
  "1 h": { seconds: 3_600, isMinutes: false, name: "hour" },
  "24 h": { seconds: 86_400, isMinutes: true, name: "24 hours" },
};

/** From this rate on a chart shows rates; below it, counts. */
const ratePerSecondMin = 2;

/** Bars of counts, and points of a line, in the width of a chart. */
const barsPerChart = 30;
const pointsPerChart = 240;

/** CSS variables: one for each code; all further codes share the last. */
const errorColours = ["--line-5", "--line-1", "--line-6", "--line-3", "--line-4"];
const restColour = "--line-2";

/**
 * The section with all charts.
 *
 * `onErrors` is called with the time, in milliseconds, whose errors are to be listed.
 */
export function Charts({
  history,
  onErrors,
}: {
  history: History;
  onErrors: ((span: { from: number; end: number }) => void) | undefined;
}) {
  const [range, setRange] = useState<RangeName>("1 h");
  const [zoom, setZoom] = useState<TimeRange | null>(null);
  const [minutes, setMinutes] = useState(emptyHistory);
  const { isMinutes, seconds } = ranges[range];
  const loadMinutes = async () => {
    // The last one had not ended.
    const since = Math.max(0, minutes.first + minutes.samples.length - 1);
    try {
      const newer: History = await get("history", { length: "minute", since: String(since) });
      setMinutes((older) => appendSamples(older, newer));
    } catch {
      // The header says that the server is unreachable.
    }
  };
  useEffect(() => {
    if (isMinutes) void loadMinutes();
  }, [history, isMinutes]);
  const end = history.samples.length === 0 ? Date.now() / 1_000 : endOf(history);
  const shown = zoom ?? { min: end - seconds, max: end };
  const charts = chartsOf(isMinutes ? minutes : history, history, shown, range);
  return html`
    <section class="card activity" aria-labelledby="activity-title">
      <header>
        <h2 id="activity-title">Activity</h2>
        ${zoom !== null && html`<button type="button" class="quiet" onClick=${() => setZoom(null)}>Reset zoom</button>`}
        <div class="segments" role="group" aria-label="Time range">
          ${Object.entries(ranges).map(
            ([name, { name: spoken }]) => html`
              <button
                type="button"
                aria-label=${`Last ${spoken}`}
                aria-pressed=${name === range}
                onClick=${() => {
                  setRange(name as RangeName);
                  setZoom(null);
                }}
              >
                ${name}
              </button>
            `,
          )}
        </div>
      </header>
      <div class="charts">
        ${charts.map((chart) => html`<${Chart} key=${chart.title} ...${chart} shown=${shown} onZoom=${setZoom} onErrors=${onErrors} />`)}
      </div>
    </section>
  `;
}

/** The end of the newest sample, in seconds since the epoch. */
function endOf({ first, samples, sampleMs }: History) {
  return ((first + samples.length) * sampleMs) / 1_000;
}

/**
 * @param history of the range.
 * @param recent of the last hour, for what is said of the present.
 */
function chartsOf(
  history: History,
  recent: History,
  shown: TimeRange,
  rangeName: RangeName,
): ChartProperties[] {
  const range = ranges[rangeName];
  const seconds = history.sampleMs / 1_000;
  const firstShown = Math.floor(shown.min / seconds) - history.first;
  const lastShown = Math.ceil(shown.max / seconds) - history.first;
  const samples = history.samples.slice(Math.max(0, firstShown), Math.max(0, lastShown));
  const start = (history.first + Math.max(0, firstShown)) * seconds;
  const codes = topCodes(samples);
  const nothing = `in the last ${range.name}`;

  const bucketOf = (count: number) => Math.max(seconds, niceSeconds((shown.max - shown.min) / count));
  const countsOf = (value: (sample: Partial<Sample>) => number, noun: string) => {
    const isRate = Math.max(0, ...samples.map(value)) / seconds >= ratePerSecondMin;
    const bucket = bucketOf(isRate ? pointsPerChart : barsPerChart);
    const unit = `${noun} per ${isRate ? "second" : spanName(bucket)}`;
    return { bucket, unit, kind: isRate ? ("areas" as const) : ("bars" as const) };
  };
  const timesOf = (bucket: number) => bucketTimes(start, samples.length * seconds, bucket);
  /** One value for each bucket: null where no sample has one. */
  const bucketed = (value: Value, bucket: number, reduce: (values: number[]) => number) => {
    const first = Math.floor(start / bucket);
    const buckets: number[][] = timesOf(bucket).map(() => []);
    for (const [index, sample] of samples.entries()) {
      const own = value(sample) ?? null;
      if (own !== null) buckets[Math.floor((start + index * seconds) / bucket) - first]?.push(own);
    }
    return buckets.map((values) => (values.length === 0 ? null : reduce(values)));
  };
  const counted = (value: Value, { bucket, kind }: { bucket: number; kind: "areas" | "bars" }) => {
    const reduce = kind === "bars" ? sumOf : (values: number[]) => meanOf(values) / seconds;
    const counts = bucketed((sample) => value(sample) ?? 0, bucket, reduce);
    // A bucket that began before what is shown is not complete.
    const times = timesOf(bucket);
    return counts.map((count, at) => ((times[at] ?? 0) - bucket / 2 < shown.min ? null : count));
  };

  const creates = countsOf(
    ({ created = 0, imported = 0, unchanged = 0 }) => created + imported + unchanged,
    "plants",
  );
  const failures = countsOf(({ errors = {} }) => sumOf(Object.values(errors)), "errors");
  // Medians and batch sizes are merged to their mean, and 99th percentiles to the worst.
  const merged = bucketOf(pointsPerChart);
  const worstOf = (values: number[]) => Math.max(...values);
  const batchSize: Value = ({ batches = 0, batchPlants = 0 }) =>
    batches === 0 ? null : batchPlants / batches;
  return [
    {
      title: "Creates",
      caption: presentText(recent, ({ created = 0, imported = 0 }) => created + imported, " created"),
      unit: creates.unit,
      empty: `No plant was created ${nothing}.`,
      kind: creates.kind,
      format: formatNumber,
      times: timesOf(creates.bucket),
      lines: [
        { label: "created", colour: "--accent", values: counted(({ created }) => created, creates) },
        { label: "imported", colour: "--line-4", values: counted(({ imported }) => imported, creates) },
        { label: "duplicates", colour: "--line-2", values: counted(({ unchanged }) => unchanged, creates) },
      ],
    },
    {
      title: "Create latency",
      caption: latencyText(recent),
      unit: "milliseconds",
      empty: `No create to measure ${nothing}.`,
      kind: "lines",
      format: formatMs,
      times: timesOf(merged),
      lines: [
        { label: "p50", colour: "--accent", values: bucketed(({ p50Ms }) => p50Ms, merged, meanOf) },
        { label: "p99", colour: "--line-1", values: bucketed(({ p99Ms }) => p99Ms, merged, worstOf) },
      ],
    },
    {
      title: "Batch size",
      caption: "",
      unit: "plants per commit",
      empty: `No commit ${nothing}.`,
      kind: "lines",
      format: formatNumber,
      times: timesOf(merged),
      lines: [{ label: "plants", colour: "--accent", values: bucketed(batchSize, merged, meanOf) }],
    },
    {
      title: "Errors by code",
      caption: presentText(recent, ({ errors = {} }) => sumOf(Object.values(errors)), ""),
      unit: failures.unit,
      empty: `No errors ${nothing}.`,
      kind: failures.kind,
      format: formatNumber,
      errorsSeconds: Math.max(60, failures.bucket),
      times: timesOf(failures.bucket),
      lines: codes.map(({ label, colour, isOf }) => ({
        label,
        colour,
        values: counted(
          ({ errors = {} }) => sumOf(Object.entries(errors).map(([code, count]) => (isOf(code) ? count : 0))),
          failures,
        ),
      })),
    },
  ];
}

function sumOf(values: number[]) {
  return values.reduce((sum, value) => sum + value, 0);
}

function meanOf(values: number[]) {
  return sumOf(values) / values.length;
}

/** The most frequent codes with a colour each, and one line for all others. */
function topCodes(samples: Partial<Sample>[]) {
  const totals: Record<string, number> = {};
  for (const sample of samples)
    for (const [code, count] of Object.entries(sample.errors ?? {}))
      totals[code] = (totals[code] ?? 0) + count;
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

/**
 * The present in the unit that fits: per second, in the last minute, or in the last hour.
 *
 * @param verb what is said of a count, such as " created".
 */
function presentText(
  { samples, sampleMs }: History,
  value: (sample: Partial<Sample>) => number,
  verb: string,
) {
  const inLast = (seconds: number) => sumOf(samples.slice(-seconds * (1_000 / sampleMs)).map(value));
  const perSecond = inLast(10) / 10;
  if (perSecond >= ratePerSecondMin) return `${formatNumber(perSecond)} per second`;
  const spans = { minute: inLast(60), hour: inLast(3_600) };
  const [name, count = 0] = Object.entries(spans).find(([, some]) => some > 0) ?? [];
  return count === 0 ? "" : `${count.toLocaleString("en-US")}${verb} in the last ${name}`;
}

function latencyText({ samples }: History) {
  const median = samples.findLast(({ p50Ms }) => p50Ms)?.p50Ms;
  return median ? `${formatMs(median)} median` : "";
}

function spanName(seconds: number) {
  if (seconds < 60) return `${seconds} s`;
  return seconds === 60 ? "minute" : `${seconds / 60} minutes`;
}

/** The bucket that is next to a length: one of those that divide an hour. */
function niceSeconds(seconds: number) {
  return [5, 10, 30, 60, 300, 900].findLast((each) => each <= Math.max(5, seconds)) ?? 5;
}

/**
 * The middle of each bucket: buckets begin at multiples of their length, so that they do not change
 * with every sample.
 */
function bucketTimes(start: number, seconds: number, bucket: number) {
  const first = Math.floor(start / bucket);
  const count = seconds === 0 ? 0 : Math.ceil((start + seconds) / bucket) - first;
  return Array.from({ length: count }, (_, index) => (first + index + 0.5) * bucket);
}
