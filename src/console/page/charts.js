// Charts of the last 5 minutes, hour or day: creates, latency, batch size and errors.

import { get } from "./api.js";
import { formatNumber, formatTime, html } from "./format.js";
import { Component, createRef } from "./library/preact.js";
import { formatMs } from "./units.js";

/**
 * @typedef {{ created: number, unchanged: number, imported: number, errors: Record<string, number>, p50Ms: number | null,
 *   p99Ms: number | null, batches: number, batchPlants: number }} Sample
 * @typedef {{ first: number, samples: (Partial<Sample> | null)[], sampleMs: number, samplesMax: number }} History
 * @typedef {{ label: string, colour: string, values: (number | null)[] }} Line
 * @typedef {{ min: number, max: number }} TimeRange In seconds since the epoch.
 * @typedef {{ title: string, caption: string, empty: string, unit: string, isStacked: boolean, lines: Line[],
 *   format: (value: number | null | undefined) => string, errorsSeconds?: number }} ChartProperties
 * @typedef {keyof typeof ranges} RangeName
 */

/** `bucketSeconds`: what one point of a chart sums up, unless there is much to show. */
const ranges = {
  "5 min": { seconds: 300, bucketSeconds: 10, isMinutes: false, name: "5 minutes" },
  "1 h": { seconds: 3_600, bucketSeconds: 60, isMinutes: false, name: "hour" },
  "24 h": { seconds: 86_400, bucketSeconds: 900, isMinutes: true, name: "24 hours" },
};

/** From this rate on a chart shows rates of samples; below it, counts. */
const ratePerSecondMin = 2;

/** From this length on, points of latency and batch size are merged to this many seconds. */
const mergedSecondsMin = 6 * 3_600;
const mergedSeconds = 300;

const height = 132;

/** CSS variables: one for each code; all further codes share the last. */
const errorColours = ["--line-5", "--line-1", "--line-6", "--line-3", "--line-4"];
const restColour = "--line-2";

/** @type {History} */
export const emptyHistory = { first: 0, samples: [], sampleMs: 5_000, samplesMax: 720 };

/**
 * @param {History} history
 * @param {History} newer Its samples replace those with the same numbers.
 * @returns {History}
 */
export function appendSamples(history, newer) {
  const end = history.first + history.samples.length;
  // After a long pause, or a clock that was set back, it starts again.
  if (history.samples.length === 0 || newer.first > end || newer.first < history.first) return newer;
  const all = [...history.samples.slice(0, newer.first - history.first), ...newer.samples].slice(
    -newer.samplesMax,
  );
  return { ...newer, first: newer.first + newer.samples.length - all.length, samples: all };
}

/**
 * The section with all charts.
 *
 * `onErrors` is called with the time, in milliseconds, whose errors are to be listed.
 *
 * @extends {Component<{ history: History, onErrors: ((span: { from: number, end: number }) => void) | undefined },
 *   { range: RangeName, zoom: TimeRange | null, minutes: History, hovered: number | null }>}
 */
export class Charts extends Component {
  /** @override @type {{ range: RangeName, zoom: TimeRange | null, minutes: History, hovered: number | null }} */
  state = { range: "1 h", zoom: null, minutes: emptyHistory, hovered: null };

  /**
   * @override
   * @param {{ history: History }} previous
   */
  componentDidUpdate(previous) {
    if (previous.history !== this.props.history && ranges[this.state.range].isMinutes)
      void this.loadMinutes();
  }

  async loadMinutes() {
    const { minutes } = this.state;
    // The last one had not ended.
    const since = Math.max(0, minutes.first + minutes.samples.length - 1);
    try {
      const newer = await get("history", { length: "minute", since: String(since) });
      this.setState({ minutes: appendSamples(minutes, newer) });
    } catch {
      // The header says that the server is unreachable.
    }
  }

  /** @param {RangeName} range */
  choose(range) {
    this.setState({ range, zoom: null });
    if (ranges[range].isMinutes) void this.loadMinutes();
  }

  /** @override */
  render() {
    const { range, zoom, minutes } = this.state;
    const history = ranges[range].isMinutes ? minutes : this.props.history;
    const end = this.props.history.samples.length === 0 ? Date.now() / 1_000 : endOf(this.props.history);
    const shown = zoom ?? { min: end - ranges[range].seconds, max: end };
    const charts = chartsOf(history, this.props.history, shown, range);
    const onZoom = (/** @type {TimeRange | null} */ next) => this.setState({ zoom: next });
    return html`
      <section class="card activity" aria-labelledby="activity-title">
        <header>
          <h2 id="activity-title">Activity</h2>
          ${zoom !== null && html`<button type="button" class="quiet" onClick=${() => onZoom(null)}>Reset zoom</button>`}
          <div class="segments" role="group" aria-label="Time range">
            ${Object.entries(ranges).map(
              ([name, { name: spoken }]) => html`
                <button
                  type="button"
                  aria-label=${`Last ${spoken}`}
                  aria-pressed=${name === range}
                  onClick=${() => this.choose(/** @type {RangeName} */ (name))}
                >
                  ${name}
                </button>
              `,
            )}
          </div>
        </header>
        <div class="charts">
          ${charts.map(
            ({ times, ...chart }) =>
              html`<${Chart} key=${chart.title} ...${chart} times=${times} shown=${shown} onZoom=${onZoom} onErrors=${this.props.onErrors} />`,
          )}
        </div>
      </section>
    `;
  }
}

/** The end of the newest sample, in seconds since the epoch. @param {History} history */
function endOf({ first, samples, sampleMs }) {
  return ((first + samples.length) * sampleMs) / 1_000;
}

/**
 * @param {History} history of the range.
 * @param {History} recent of the last hour, for what is said of the present.
 * @param {TimeRange} shown
 * @param {RangeName} rangeName
 * @returns {(ChartProperties & { times: number[] })[]}
 */
function chartsOf(history, recent, shown, rangeName) {
  const range = ranges[rangeName];
  const seconds = history.sampleMs / 1_000;
  const firstShown = Math.floor(shown.min / seconds) - history.first;
  const lastShown = Math.ceil(shown.max / seconds) - history.first;
  const samples = history.samples.slice(Math.max(0, firstShown), Math.max(0, lastShown));
  const start = (history.first + Math.max(0, firstShown)) * seconds;
  const codes = topCodes(samples);
  const nothing = `in the last ${range.name}`;

  /** @param {(sample: Partial<Sample>) => number} value @param {string} noun */
  const countsOf = (value, noun) => {
    const counts = samples.map((sample) => (sample === null ? null : value(sample)));
    const busiest = counts.reduce((/** @type {number} */ most, count) => Math.max(most, count ?? 0), 0);
    const isRate = busiest / seconds >= ratePerSecondMin;
    const zoomed = (shown.max - shown.min) / range.seconds;
    const bucket = isRate ? seconds : Math.max(seconds, niceSeconds(range.bucketSeconds * zoomed));
    return { bucket, isRate, unit: isRate ? `${noun} per second` : `${noun} per ${spanName(bucket)}` };
  };
  /** @param {number} bucket */
  const timesOf = (bucket) => bucketTimes(start, samples.length * seconds, bucket);
  /** @param {(sample: Partial<Sample>) => number | null | undefined} value @param {{ bucket: number, isRate: boolean }} scale */
  const summed = (value, { bucket, isRate }) => {
    const values = samples.map((sample) => (sample === null ? null : (value(sample) ?? 0)));
    return sumBuckets(values, { start, seconds, bucket, isRate, shownFrom: shown.min });
  };
  /** @param {(sample: Partial<Sample>) => number | null | undefined} value */
  const plain = (value) => samples.map((sample) => (sample === null ? null : (value(sample) ?? null)));

  const creates = countsOf(
    ({ created = 0, imported = 0, unchanged = 0 }) => created + imported + unchanged,
    "plants",
  );
  const failures = countsOf(({ errors = {} }) => totalOf(errors), "errors");
  // More points than pixels are merged: medians and batch sizes to their mean, and 99th percentiles
  // to the worst.
  const merged = shown.max - shown.min > mergedSecondsMin ? mergedSeconds : seconds;
  /** @param {(sample: Partial<Sample>) => number | null | undefined} value @param {boolean} isWorst */
  const merge = (value, isWorst) => mergeBuckets(plain(value), { start, seconds, bucket: merged, isWorst });
  return [
    {
      title: "Creates",
      caption: presentText(recent, ({ created = 0, imported = 0 }) => created + imported, "created"),
      unit: creates.unit,
      empty: `No plant was created ${nothing}.`,
      isStacked: true,
      format: formatNumber,
      times: timesOf(creates.bucket),
      lines: [
        { label: "created", colour: "--accent", values: summed(({ created }) => created, creates) },
        { label: "imported", colour: "--line-4", values: summed(({ imported }) => imported, creates) },
        { label: "duplicates", colour: "--line-2", values: summed(({ unchanged }) => unchanged, creates) },
      ],
    },
    {
      title: "Create latency",
      caption: latencyText(recent),
      unit: "milliseconds",
      empty: `No create to measure ${nothing}.`,
      isStacked: false,
      format: (value) => (value === null || value === undefined ? "–" : formatMs(value)),
      times: timesOf(merged),
      lines: [
        { label: "p50", colour: "--accent", values: merge(({ p50Ms }) => p50Ms, false) },
        { label: "p99", colour: "--line-1", values: merge(({ p99Ms }) => p99Ms, true) },
      ],
    },
    {
      title: "Batch size",
      caption: "",
      unit: "plants per commit",
      empty: `No commit ${nothing}.`,
      isStacked: false,
      format: formatNumber,
      times: timesOf(merged),
      lines: [
        {
          label: "plants",
          colour: "--accent",
          values: merge(
            ({ batches = 0, batchPlants = 0 }) => (batches === 0 ? null : batchPlants / batches),
            false,
          ),
        },
      ],
    },
    {
      title: "Errors by code",
      caption: presentText(recent, ({ errors = {} }) => totalOf(errors), ""),
      unit: failures.unit,
      empty: `No errors ${nothing}.`,
      isStacked: true,
      format: formatNumber,
      errorsSeconds: Math.max(60, failures.bucket),
      times: timesOf(failures.bucket),
      lines: codes.map(({ label, colour, isOf }) => ({
        label,
        colour,
        values: summed(
          ({ errors = {} }) =>
            totalOf(Object.fromEntries(Object.entries(errors).filter(([code]) => isOf(code)))),
          failures,
        ),
      })),
    },
  ];
}

/** @param {Record<string, number>} counts */
function totalOf(counts) {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** The most frequent codes with a colour each, and one line for all others. @param {(Partial<Sample> | null)[]} samples */
function topCodes(samples) {
  /** @type {Record<string, number>} */
  const totals = {};
  for (const sample of samples)
    for (const [code, count] of Object.entries(sample?.errors ?? {}))
      totals[code] = (totals[code] ?? 0) + count;
  const byCount = Object.keys(totals).sort((one, other) => (totals[other] ?? 0) - (totals[one] ?? 0));
  const own = new Set(byCount.slice(0, errorColours.length));
  const lines = [...own].sort().map((code, index) => ({
    label: code,
    colour: errorColours[index] ?? restColour,
    isOf: (/** @type {string} */ other) => other === code,
  }));
  const rest = { label: "others", colour: restColour, isOf: (/** @type {string} */ code) => !own.has(code) };
  return byCount.length > own.size ? [...lines, rest] : lines;
}

/**
 * The present in the unit that fits: per second, in the last minute, or in the last hour.
 *
 * @param {History} recent
 * @param {(sample: Partial<Sample>) => number} value
 * @param {string} verb
 */
function presentText({ samples, sampleMs }, value, verb) {
  /** @param {number} seconds */
  const inLast = (seconds) =>
    samples
      .slice(-seconds * (1_000 / sampleMs))
      .reduce((sum, sample) => sum + (sample === null ? 0 : value(sample)), 0);
  const perSecond = inLast(10) / 10;
  if (perSecond >= ratePerSecondMin) return `${formatNumber(perSecond)} per second`;
  for (const [seconds, name] of /** @type {[number, string][]} */ ([
    [60, "minute"],
    [3_600, "hour"],
  ])) {
    const count = inLast(seconds);
    if (count > 0) return `${count.toLocaleString("en-US")} ${verb} in the last ${name}`.replace("  ", " ");
  }
  return "";
}

/** @param {History} recent */
function latencyText({ samples }) {
  const last = samples.findLast((sample) => sample?.p50Ms !== undefined && sample?.p50Ms !== null);
  return last?.p50Ms === undefined || last.p50Ms === null ? "" : `${formatMs(last.p50Ms)} median`;
}

/** @param {number} seconds */
function spanName(seconds) {
  if (seconds < 60) return `${seconds} s`;
  return seconds === 60 ? "minute" : `${seconds / 60} minutes`;
}

/** The bucket that is next to a length: one of those that divide an hour. @param {number} seconds */
function niceSeconds(seconds) {
  return [5, 10, 30, 60, 300, 900].findLast((each) => each <= Math.max(5, seconds)) ?? 5;
}

/**
 * The middle of each bucket: buckets begin at multiples of their length, so that they do not change
 * with every sample.
 *
 * @param {number} start
 * @param {number} seconds
 * @param {number} bucket
 */
function bucketTimes(start, seconds, bucket) {
  const first = Math.floor(start / bucket);
  const count = seconds === 0 ? 0 : Math.ceil((start + seconds) / bucket) - first;
  return Array.from({ length: count }, (_, index) => (first + index + 0.5) * bucket);
}

/**
 * @param {(number | null)[]} values
 * @param {{ start: number, seconds: number, bucket: number, isRate: boolean, shownFrom: number }} scale `seconds`: of a value.
 * @returns {(number | null)[]}
 */
function sumBuckets(values, { start, seconds, bucket, isRate, shownFrom }) {
  /** @type {(number | null)[]} */
  const sums = bucketTimes(start, values.length * seconds, bucket).map(() => null);
  const first = Math.floor(start / bucket);
  for (const [index, value] of values.entries()) {
    const at = Math.floor((start + index * seconds) / bucket) - first;
    if (value !== null) sums[at] = (sums[at] ?? 0) + (isRate ? value / bucket : value);
  }
  // A bucket that began before what is shown is not complete.
  return sums.map((sum, at) => ((first + at) * bucket < shownFrom ? null : sum));
}

/**
 * @param {(number | null)[]} values
 * @param {{ start: number, seconds: number, bucket: number, isWorst: boolean }} scale
 * @returns {(number | null)[]}
 */
function mergeBuckets(values, { start, seconds, bucket, isWorst }) {
  if (bucket === seconds) return values;
  const first = Math.floor(start / bucket);
  /** @type {number[][]} */
  const buckets = bucketTimes(start, values.length * seconds, bucket).map(() => []);
  for (const [index, value] of values.entries())
    if (value !== null) buckets[Math.floor((start + index * seconds) / bucket) - first]?.push(value);
  return buckets.map((own) => {
    if (own.length === 0) return null;
    return isWorst ? Math.max(...own) : own.reduce((sum, value) => sum + value, 0) / own.length;
  });
}

/**
 * One chart, with the values at the cursor.
 *
 * @extends {Component<ChartProperties & { times: number[], shown: TimeRange, onZoom: (zoom: TimeRange | null) => void,
 *   onErrors: ((span: { from: number, end: number }) => void) | undefined },
 *   { hovered: number | null }>}
 */
class Chart extends Component {
  /** @override @type {{ hovered: number | null }} */
  state = { hovered: null };
  /** @type {{ current: HTMLElement | null }} */
  container = createRef();
  /** @type {uPlot | undefined} */
  plot;
  /** The key of the plot, which is made again if it changes. */
  plotKey = "";
  /** @type {ResizeObserver | undefined} */
  resizeObserver;
  scheme = matchMedia("(prefers-color-scheme: dark)");
  redraw = () => {
    this.plotKey = "";
    this.draw();
  };

  /** @override */
  componentDidMount() {
    this.scheme.addEventListener("change", this.redraw);
    this.resizeObserver = new ResizeObserver(() => {
      const width = this.container.current?.clientWidth ?? 0;
      if (width > 0 && this.plot !== undefined && this.plot.width !== width)
        this.plot.setSize({ width, height });
    });
    this.draw();
  }

  /** @override */
  componentDidUpdate() {
    this.draw();
  }

  /** @override */
  componentWillUnmount() {
    this.scheme.removeEventListener("change", this.redraw);
    this.resizeObserver?.disconnect();
    this.plot?.destroy();
  }

  get isEmpty() {
    return !this.props.lines.some(({ values }) => values.some((value) => value !== null && value > 0));
  }

  draw() {
    const container = this.container.current;
    if (this.isEmpty || container === null) {
      this.plot?.destroy();
      this.plot = undefined;
      this.plotKey = "";
      return;
    }
    const { lines, times, isStacked } = this.props;
    const key = `${lines.map(({ label, colour }) => label + colour).join()} ${this.isBars} ${this.scheme.matches}`;
    // The largest sum of a stack is drawn first, so that the others are visible before it.
    const stacked = isStacked ? stack(lines).toReversed() : lines.map(({ values }) => values);
    const data = /** @type {uPlot.AlignedData} */ ([times, ...stacked]);
    if (this.plot === undefined || this.plotKey !== key) {
      this.plot?.destroy();
      this.plot = new uPlot(this.options(container), data, container);
      this.resizeObserver?.observe(container);
      this.plotKey = key;
    } else this.plot.setData(data);
  }

  /** Few counts are bars; rates are areas. */
  get isBars() {
    return this.props.isStacked && !this.props.unit.endsWith("per second");
  }

  /**
   * @param {HTMLElement} container
   * @returns {uPlot.Options}
   */
  options(container) {
    // A variable with light-dark() has one value only as the colour of an element.
    const colour = (/** @type {string} */ name) => {
      container.style.color = `var(${name})`;
      return getComputedStyle(container).color;
    };
    const pale = (/** @type {string} */ name) =>
      colour(name).replace("rgb(", "rgba(").replace(")", ", 0.15)");
    const axis = {
      stroke: colour("--faint"),
      grid: { stroke: colour("--rule"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    const { isStacked } = this.props;
    const paths = this.isBars ? uPlot.paths.bars?.({ size: [0.8, 28, 2] }) : uPlot.paths.linear?.();
    const series = this.props.lines.map(({ label, colour: name }) => ({
      label,
      stroke: colour(name),
      width: this.isBars ? 0 : 1.5,
      ...(paths === undefined ? {} : { paths }),
      ...(isStacked ? { fill: this.isBars ? colour(name) : pale(name) } : {}),
      // A sample between two gaps has no line.
      points: { show: !this.isBars, size: 5, fill: colour(name), filter: isolatedPoints },
    }));
    return {
      width: container.clientWidth,
      height,
      padding: [8, 14, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { size: 7 },
        drag: { x: true, y: false, setScale: false },
        sync: { key: "activity" },
      },
      select: { show: true, left: 0, top: 0, width: 0, height: 0 },
      scales: {
        x: { time: true, range: () => [this.props.shown.min, this.props.shown.max] },
        y: { range: (_, __, max) => [0, axisMax(max, isStacked && this.isBars)] },
      },
      axes: [
        {
          ...axis,
          size: 24,
          space: 64,
          values: (_, ticks, __, ___, step) => ticks.map((tick) => formatAxisTime(tick, step)),
        },
        {
          ...axis,
          space: 34,
          // As wide as its widest label: no label is cut or drawn over the plot.
          size: (plot, labels) => axisWidth(plot, labels),
          values: (_, ticks) => ticks.map(formatAxisNumber),
        },
      ],
      series: [{}, ...(isStacked ? series.toReversed() : series)],
      hooks: {
        setCursor: [
          (plot) => {
            const hovered = plot.cursor.idx ?? null;
            if (hovered !== this.state.hovered) this.setState({ hovered });
          },
        ],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width < 8) return;
            const [min, max] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            if (max - min >= 10) this.props.onZoom({ min, max });
          },
        ],
      },
    };
  }

  /** Moves the read-out, and zooms, by the keyboard. @param {KeyboardEvent} event */
  onKey(event) {
    const { times, shown, onZoom } = this.props;
    const at = this.state.hovered ?? times.length - 1;
    const middle = times[at] ?? shown.max;
    const length = shown.max - shown.min;
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowLeft: () => this.moveTo(at - 1),
      ArrowRight: () => this.moveTo(at + 1),
      Enter: () => this.listErrors(),
      "+": () => length > 40 && onZoom({ min: middle - length / 4, max: middle + length / 4 }),
      "-": () => onZoom(null),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  /** Lists the errors of the minute, or of the longer bar, at the read-out. */
  listErrors() {
    const { times, errorsSeconds, onErrors } = this.props;
    const time = times[this.state.hovered ?? -1];
    if (errorsSeconds === undefined || time === undefined || onErrors === undefined) return;
    const from = Math.floor(time / errorsSeconds) * errorsSeconds;
    onErrors({ from: from * 1_000, end: (from + errorsSeconds) * 1_000 });
  }

  /** @param {number} at */
  moveTo(at) {
    const { times } = this.props;
    const time = times[Math.max(0, Math.min(times.length - 1, at))];
    if (this.plot === undefined || time === undefined) return;
    this.plot.setCursor({ left: this.plot.valToPos(time, "x"), top: 10 });
  }

  /** @override */
  render() {
    const { title, caption, unit, times, lines, empty, format, errorsSeconds } = this.props;
    const { hovered } = this.state;
    const time = hovered === null ? undefined : times[hovered];
    const values = lines.map(
      ({ label, values }) => `${label} ${format(values[hovered ?? values.length - 1])}`,
    );
    return html`
      <figure class="chart">
        <figcaption>
          <h3>${title}</h3>
          <p class="present">${time === undefined ? caption : formatTime(time)}</p>
        </figcaption>
        ${
          this.isEmpty
            ? html`<p class="empty">${empty}</p>`
            : html`
              <div
                class="canvas"
                ref=${this.container}
                role="img"
                tabindex="0"
                aria-label=${`${title}, ${unit}: ${values.join(", ")}. Arrow keys read values, plus and minus zoom${errorsSeconds === undefined ? "" : ", Enter lists the errors of a minute"}.`}
                title=${errorsSeconds === undefined ? null : "Click on a bar to list its errors"}
                onClick=${() => this.listErrors()}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.onKey(event)}
                onDblClick=${() => this.props.onZoom(null)}
              ></div>
              <p class="readout">
                ${lines.map(
                  ({ label, colour, values }) => html`
                    <span class="key">
                      <i aria-hidden="true" style=${{ color: `var(${colour})` }}>■ </i>${label}
                      ${hovered !== null && html` <b>${format(values[hovered])}</b>`}
                    </span>
                  `,
                )}
                <span class="unit faint">${unit}</span>
              </p>
            `
        }
      </figure>
    `;
  }
}

/**
 * The values of stacked lines: each is drawn on the sum of those before it.
 *
 * @param {Line[]} lines
 * @returns {(number | null)[][]}
 */
function stack(lines) {
  /** @type {(number | null)[]} */
  let below = [];
  return lines.map(({ values }) => {
    below = values.map((value, index) => (value === null ? null : value + (below[index] ?? 0)));
    return below;
  });
}

/**
 * The indexes of values with gaps on both sides.
 *
 * @param {uPlot} plot
 * @param {number} series
 * @returns {number[]}
 */
function isolatedPoints(plot, series) {
  const values = plot.data[series] ?? [];
  return [...values.keys()].filter(
    (at) => isValue(values[at]) && !isValue(values[at - 1]) && !isValue(values[at + 1]),
  );
}

/** @param {number | null | undefined} value */
function isValue(value) {
  return value !== null && value !== undefined;
}

/**
 * The maximum of an axis, rounded up so that it does not change with every sample.
 *
 * @param {number | null} max
 * @param {boolean} isCount
 */
function axisMax(max, isCount) {
  if (max === null || max <= 0) return 1;
  // Counts are whole: no line of the grid between 0 and 1.
  if (isCount && max <= 4) return Math.max(2, max);
  const unit = 10 ** Math.floor(Math.log10(max));
  return unit * ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= max) ?? 10);
}

/**
 * @param {uPlot} plot
 * @param {string[] | null} labels
 */
function axisWidth(plot, labels) {
  plot.ctx.save();
  plot.ctx.font = "11px system-ui, sans-serif";
  const widths = (labels ?? []).map((label) => plot.ctx.measureText(label ?? "").width);
  plot.ctx.restore();
  return Math.ceil(Math.max(16, ...widths)) + 14;
}

/** @param {number} value */
function formatAxisNumber(value) {
  if (value >= 10_000) return `${formatNumber(value / 1_000)}k`;
  return Number.isInteger(value) || value < 1 ? formatNumber(value) : String(Number(value.toFixed(1)));
}

/**
 * @param {number} seconds
 * @param {number} step of the axis, in seconds.
 */
function formatAxisTime(seconds, step) {
  const text = formatTime(seconds);
  return step < 60 ? text : text.slice(0, "12:00".length);
}
