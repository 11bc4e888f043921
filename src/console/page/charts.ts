// Charts of the last 5 minutes, hour or day: creates, latency, batch size and errors.

import type { Sample } from "../recent-samples.ts";
import { get } from "./api.ts";
import { Chart, type ChartProperties, type TimeRange } from "./chart.ts";
import { formatMs, formatNumber, html } from "./format.ts";
import { useEffect, useState } from "./library.js";
import { appendSamples, emptyHistory, type History } from "./samples.ts";

type RangeName = keyof typeof ranges;

type Count = (sample: Partial<Sample>) => number;

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
const errorColours = ["--danger", "--line-1", "--line-5", "--line-3", "--line-4"];
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
  const nothing = `in the last ${range.name}`;

  /** The samples in buckets, which begin at multiples of their length: new samples move none. */
  const bucketsOf = (count: number) => {
    const length = Math.max(seconds, niceSeconds((shown.max - shown.min) / count));
    const indexes = Map.groupBy(samples.keys(), (at) => Math.floor((start + at * seconds) / length));
    const buckets = [...indexes].map(([number, own]) => ({
      from: number * length,
      // A time after the end is not drawn: the newest bucket would be missing for half of its length.
      middle: Math.min((number + 0.5) * length, endOf(recent)),
      samples: own.map((at) => samples[at] ?? {}),
    }));
    return { length, buckets };
  };
  const countsOf = (noun: string, all: Count) => {
    const isRate = Math.max(0, ...samples.map(all)) / seconds >= ratePerSecondMin;
    const { length, buckets } = bucketsOf(isRate ? pointsPerChart : barsPerChart);
    // A bucket that began before what is shown is not complete.
    const complete = buckets.filter(({ from }) => from >= shown.min);
    const valuesOf = (count: Count) =>
      complete.map(({ samples: own }) => sumOf(own.map(count)) / (isRate ? own.length * seconds : 1));
    const unit = `${noun} per ${isRate ? "second" : spanName(length)}`;
    const times = complete.map(({ middle }) => middle);
    return {
      length,
      valuesOf,
      chart: { kind: isRate ? "areas" : "bars", barSeconds: length, unit, times } as const,
    };
  };
  const creates = countsOf(
    "plants",
    ({ created = 0, imported = 0, unchanged = 0 }) => created + imported + unchanged,
  );
  const failures = countsOf("errors", ({ errors = {} }) => sumOf(Object.values(errors)));

  const points = bucketsOf(pointsPerChart).buckets;
  const times = points.map(({ middle }) => middle);
  /** null where no sample has a value. */
  const pointsOf = (
    value: (sample: Partial<Sample>) => number | null | undefined,
    reduce: (values: number[]) => number,
  ) =>
    points.map(({ samples: own }) => {
      const values = own.map(value).filter((each) => typeof each === "number");
      return values.length === 0 ? null : reduce(values);
    });
  const meanOf = (values: number[]) => sumOf(values) / values.length;
  const worstOf = (values: number[]) => Math.max(...values);
  return [
    {
      title: "Creates",
      caption: presentText(recent, ({ created = 0, imported = 0 }) => created + imported, " created"),
      ...creates.chart,
      empty: `No plant was created ${nothing}.`,
      format: formatNumber,
      lines: [
        { label: "created", colour: "--accent", values: creates.valuesOf(({ created = 0 }) => created) },
        { label: "imported", colour: "--line-4", values: creates.valuesOf(({ imported = 0 }) => imported) },
        {
          label: "duplicates",
          colour: "--line-2",
          values: creates.valuesOf(({ unchanged = 0 }) => unchanged),
        },
      ],
    },
    {
      title: "Create latency",
      caption: latencyText(recent),
      unit: "milliseconds",
      empty: `No create to measure ${nothing}.`,
      kind: "lines",
      format: formatMs,
      times,
      lines: [
        { label: "p50", colour: "--accent", values: pointsOf(({ p50Ms }) => p50Ms, meanOf) },
        { label: "p99", colour: "--line-1", values: pointsOf(({ p99Ms }) => p99Ms, worstOf) },
      ],
    },
    {
      title: "Batch size",
      caption: "",
      unit: "plants per commit",
      empty: `No commit ${nothing}.`,
      kind: "lines",
      format: formatNumber,
      times,
      lines: [
        {
          label: "plants",
          colour: "--accent",
          values: pointsOf(
            ({ batches, batchPlants = 0 }) => (batches ? batchPlants / batches : null),
            meanOf,
          ),
        },
      ],
    },
    {
      title: "Errors by code",
      caption: presentText(recent, ({ errors = {} }) => sumOf(Object.values(errors)), ""),
      ...failures.chart,
      empty: `No errors ${nothing}.`,
      format: formatNumber,
      errorsSeconds: Math.max(60, failures.length),
      lines: topCodes(samples).map(({ label, colour, isOf }) => ({
        label,
        colour,
        values: failures.valuesOf(({ errors = {} }) =>
          sumOf(Object.entries(errors).map(([code, count]) => (isOf(code) ? count : 0))),
        ),
      })),
    },
  ];
}

function sumOf(values: number[]) {
  return values.reduce((sum, value) => sum + value, 0);
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
function presentText({ samples, sampleMs }: History, value: Count, verb: string) {
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
