// Charts of the last hour: creates, latency, batch size and errors.

import { formatNumber, formatTime, html } from "./format.js";
import { Component, createRef } from "./library/preact.js";
import uPlot from "./library/uplot.js";

/**
 * @typedef {{ created: number, unchanged: number, errors: Record<string, number>, p50Ms: number | null,
 *   p99Ms: number | null, batches: number, batchPlants: number }} Sample
 * @typedef {{ first: number, samples: Sample[], sampleMs: number, samplesMax: number, endsAt: number }} History
 * @typedef {{ label: string, colour: string, values: (number | null)[] }} Line
 * @typedef {{ title: string, unit: string, empty: string, lines: Line[] }} ChartProperties
 */

const height = 150;

/** CSS variables. */
const errorColours = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

/** @param {{ history: History }} properties */
export function Charts({ history }) {
  const { samples, sampleMs, endsAt } = history;
  const seconds = sampleMs / 1_000;
  const times = samples.map((_, index) => endsAt - (samples.length - 1 - index) * seconds);
  const codes = [...new Set(samples.flatMap(({ errors }) => Object.keys(errors)))].sort();
  /** @param {(sample: Sample) => number | null} value */
  const valuesOf = (value) => samples.map(value);
  /** @type {ChartProperties[]} */
  const charts = [
    {
      title: "Creates",
      unit: "per second",
      empty: "No creates in the last hour.",
      lines: [
        { label: "created", colour: "--accent", values: valuesOf(({ created }) => created / seconds) },
        { label: "duplicates", colour: "--line-2", values: valuesOf(({ unchanged }) => unchanged / seconds) },
      ],
    },
    {
      title: "Create latency",
      unit: "ms",
      empty: "No creates in the last hour.",
      lines: [
        { label: "p50", colour: "--accent", values: valuesOf(({ p50Ms }) => p50Ms) },
        { label: "p99", colour: "--line-1", values: valuesOf(({ p99Ms }) => p99Ms) },
      ],
    },
    {
      title: "Batch size",
      unit: "plants per commit",
      empty: "No commits in the last hour.",
      lines: [{ label: "plants", colour: "--accent", values: valuesOf(plantsPerBatch) }],
    },
    {
      title: "Errors by code",
      unit: "per second",
      empty: "No errors in the last hour.",
      lines: codes.map((code, index) => ({
        label: code,
        colour: errorColours[index % errorColours.length] ?? "--accent",
        values: valuesOf(({ errors }) => (errors[code] ?? 0) / seconds),
      })),
    },
  ];
  return html`
    <section class="charts" aria-label="The last hour">
      ${charts.map((chart) => html`<${Chart} key=${chart.title} times=${times} ...${chart} />`)}
    </section>
  `;
}

/** @param {Sample} sample */
function plantsPerBatch({ batches, batchPlants }) {
  return batches === 0 ? null : batchPlants / batches;
}

/**
 * One chart, with the values at the cursor, or the latest ones.
 *
 * @extends {Component<ChartProperties & { times: number[] }, { hovered: number | null }>}
 */
class Chart extends Component {
  /** @override @type {{ hovered: number | null }} */
  state = { hovered: null };
  /** @type {{ current: HTMLElement | null }} */
  container = createRef();
  /** @type {uPlot | undefined} */
  plot;
  /** Identifies the data that was drawn last. */
  drawnData = "";
  /** The labels and the colour scheme of the plot. */
  drawnLabels = "";
  isDark = false;
  /** @type {ResizeObserver | undefined} */
  resizeObserver;
  scheme = matchMedia("(prefers-color-scheme: dark)");
  redraw = () => {
    this.drawnData = "";
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
    if (this.container.current !== null) this.resizeObserver.observe(this.container.current);
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
    const { times, lines } = this.props;
    const labels = lines.map(({ label }) => label).join();
    const newest = `${labels} ${times.at(0)} ${times.at(-1)}`;
    if (this.drawnData === newest || this.container.current === null) return;
    this.drawnData = newest;
    const data = /** @type {uPlot.AlignedData} */ ([times, ...lines.map(({ values }) => values)]);
    if (this.plot === undefined || this.drawnLabels !== labels || this.isDark !== this.scheme.matches) {
      this.plot?.destroy();
      this.plot = new uPlot(this.options(this.container.current), data, this.container.current);
      this.drawnLabels = labels;
      this.isDark = this.scheme.matches;
    } else this.plot.setData(data);
  }

  /**
   * @param {HTMLElement} container
   * @returns {uPlot.Options}
   */
  options(container) {
    const style = getComputedStyle(container);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
    const axis = {
      stroke: colour("--faint"),
      grid: { stroke: colour("--rule"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
    };
    return {
      width: container.clientWidth,
      height,
      padding: [8, 26, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: "hour" } },
      scales: {
        x: { range: (_, min, max) => timeRange(min, max) },
        y: { range: (_, __, max) => [0, axisMax(max)] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          space: 80,
          values: (_, ticks, __, ___, step) => ticks.map((tick) => formatAxisTime(tick, step)),
        },
        { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => formatNumber(tick)) },
      ],
      series: [
        {},
        ...this.props.lines.map(({ label, colour: name }) => ({
          label,
          stroke: colour(name),
          width: 1.5,
          points: { show: false },
        })),
      ],
      hooks: {
        setCursor: [
          (plot) => {
            const hovered = plot.cursor.idx ?? null;
            if (hovered !== this.state.hovered) this.setState({ hovered });
          },
        ],
      },
    };
  }

  /** @override */
  render() {
    const { title, unit, times, lines, empty } = this.props;
    const { hovered } = this.state;
    const at = hovered ?? times.length - 1;
    const time = times[at];
    const latest = lines.map(({ label, values }) => `${label} ${formatNumber(values[at])}`);
    return html`
      <figure class="card chart">
        <figcaption>
          <h2>${title} <small>${unit}</small></h2>
          <p class="readout">
            ${lines.map(
              ({ label, colour, values }) => html`
                <span class="key"><i class="swatch" style=${{ background: `var(${colour})` }}></i>${label} <b>${formatNumber(values[at])}</b></span>
              `,
            )}
            <span class="faint">${hovered === null || time === undefined ? "" : formatTime(time)}</span>
          </p>
        </figcaption>
        <div class="canvas" role="img" aria-label=${`${title} ${unit} over the last hour; latest: ${latest.join(", ") || "none"}`} ref=${this.container}></div>
        <p class="empty" hidden=${!this.isEmpty}>${empty}</p>
      </figure>
    `;
  }
}

/**
 * The maximum of an axis, rounded up so that it does not change with every sample.
 *
 * @param {number | null} max
 */
function axisMax(max) {
  if (max === null || max <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(max));
  return unit * ([1, 2, 5, 10].find((step) => step * unit >= max) ?? 10);
}

/**
 * @param {number} seconds
 * @param {number} step of the axis, in seconds.
 */
function formatAxisTime(seconds, step) {
  const text = formatTime(seconds);
  return step < 60 ? text : text.slice(0, "12:00".length);
}

/**
 * The range of the samples, but at least a minute, so that the chart of a new server is not a single point at its edge.
 *
 * @param {number | null} start
 * @param {number | null} end
 * @returns {[number, number]}
 */
function timeRange(start, end) {
  const last = end ?? Date.now() / 1_000;
  return [Math.min(start ?? last, last - 60), last];
}
