// The last hour as plots: creates, refusals, latency and batch size.

import { figure, html, timeOfDay } from "./format.js";
import { Component, createRef } from "./library/preact.js";
import uPlot from "./library/uplot.js";

/**
 * @typedef {{ created: number, unchanged: number, refusals: Record<string, number>, p50Ms: number | null,
 *   p99Ms: number | null, batches: number, batchPlants: number }} Sample
 * @typedef {{ first: number, samples: Sample[], sampleMs: number, samplesMax: number, endsAt: number }} Hour
 * @typedef {{ label: string, colour: string, values: (number | null)[] }} Line
 */

const height = 150;

/** Names of CSS colours, in the order in which they are given out. */
const refusalColours = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

/** @param {{ hour: Hour }} properties */
export function Plots({ hour }) {
  const { samples, sampleMs } = hour;
  const seconds = sampleMs / 1_000;
  const times = samples.map((_, index) => hour.endsAt - (samples.length - 1 - index) * seconds);
  const codes = [...new Set(samples.flatMap(({ refusals }) => Object.keys(refusals)))].sort();
  return html`
    <section class="plots" aria-label="The last hour">
      <${Plot}
        title="Creates"
        unit="a second"
        times=${times}
        empty="No plant was created in the last hour."
        lines=${[
          { label: "new", colour: "--accent", values: samples.map(({ created }) => created / seconds) },
          {
            label: "sent again",
            colour: "--line-2",
            values: samples.map(({ unchanged }) => unchanged / seconds),
          },
        ]}
      />
      <${Plot}
        title="Time of a create"
        unit="ms"
        times=${times}
        empty="No plant was created in the last hour."
        lines=${[
          { label: "p50", colour: "--accent", values: samples.map(({ p50Ms }) => p50Ms) },
          { label: "p99", colour: "--line-1", values: samples.map(({ p99Ms }) => p99Ms) },
        ]}
      />
      <${Plot}
        title="Batch size"
        unit="plants a commit"
        times=${times}
        empty="Nothing was committed in the last hour."
        lines=${[
          {
            label: "plants",
            colour: "--accent",
            values: samples.map(({ batches, batchPlants }) => (batches === 0 ? null : batchPlants / batches)),
          },
        ]}
      />
      <${Plot}
        title="Refusals"
        unit="a second"
        times=${times}
        empty="Nothing was refused in the last hour."
        lines=${codes.map((code, index) => ({
          label: code,
          colour: refusalColours[index % refusalColours.length] ?? "--accent",
          values: samples.map(({ refusals }) => (refusals[code] ?? 0) / seconds),
        }))}
      />
    </section>
  `;
}

/**
 * One plot, with the figures of the moment that is pointed at, or of the latest.
 *
 * @extends {Component<{ title: string, unit: string, empty: string, times: number[], lines: Line[] },
 *   { pointed: number | null }>}
 */
class Plot extends Component {
  /** @override @type {{ pointed: number | null }} */
  state = { pointed: null };
  /** @type {{ current: HTMLElement | null }} */
  place = createRef();
  /** @type {uPlot | undefined} */
  plot;
  drawn = "";
  /** The labels and the colour scheme that the plot was made with. */
  plotted = "";
  isDark = false;
  /** @type {ResizeObserver | undefined} */
  resizing;
  scheme = matchMedia("(prefers-color-scheme: dark)");
  redraw = () => {
    this.drawn = "";
    this.draw();
  };

  /** @override */
  componentDidMount() {
    this.scheme.addEventListener("change", this.redraw);
    this.resizing = new ResizeObserver(() => {
      const width = this.place.current?.clientWidth ?? 0;
      if (width > 0 && this.plot !== undefined && this.plot.width !== width)
        this.plot.setSize({ width, height });
    });
    if (this.place.current !== null) this.resizing.observe(this.place.current);
    this.draw();
  }

  /** @override */
  componentDidUpdate() {
    this.draw();
  }

  /** @override */
  componentWillUnmount() {
    this.scheme.removeEventListener("change", this.redraw);
    this.resizing?.disconnect();
    this.plot?.destroy();
  }

  get isEmpty() {
    return !this.props.lines.some(({ values }) => values.some((value) => value !== null && value > 0));
  }

  draw() {
    const { times, lines } = this.props;
    const labels = lines.map(({ label }) => label).join();
    const newest = `${labels} ${times.at(0)} ${times.at(-1)}`;
    if (this.drawn === newest || this.place.current === null) return;
    this.drawn = newest;
    const data = /** @type {uPlot.AlignedData} */ ([times, ...lines.map(({ values }) => values)]);
    if (this.plot === undefined || this.plotted !== labels || this.isDark !== this.scheme.matches) {
      this.plot?.destroy();
      this.plot = new uPlot(this.options(this.place.current), data, this.place.current);
      this.plotted = labels;
      this.isDark = this.scheme.matches;
    } else this.plot.setData(data);
  }

  /**
   * @param {HTMLElement} place
   * @returns {uPlot.Options}
   */
  options(place) {
    const style = getComputedStyle(place);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
    const axis = {
      stroke: colour("--faint"),
      grid: { stroke: colour("--rule"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
    };
    return {
      width: place.clientWidth,
      height,
      padding: [8, 26, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: "hour" } },
      scales: {
        x: { range: (_, min, max) => spanOf(min, max) },
        y: { range: (_, __, max) => [0, roundedUp(max)] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          space: 80,
          values: (_, ticks, __, ___, step) => ticks.map((tick) => clock(tick, step)),
        },
        { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => figure(tick)) },
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
            const pointed = plot.cursor.idx ?? null;
            if (pointed !== this.state.pointed) this.setState({ pointed });
          },
        ],
      },
    };
  }

  /** @override */
  render() {
    const { title, unit, times, lines, empty } = this.props;
    const { pointed } = this.state;
    const at = pointed ?? times.length - 1;
    const time = times[at];
    const figures = lines.map(({ label, values }) => `${label} ${figure(values[at])}`);
    return html`
      <figure class="card plot">
        <figcaption>
          <h2>${title} <small>${unit}</small></h2>
          <p class="readout">
            ${lines.map(
              ({ label, colour, values }) => html`
                <span class="key"><i class=${`swatch ${colour.slice(2)}`}></i>${label} <b>${figure(values[at])}</b></span>
              `,
            )}
            <span class="faint">${pointed === null || time === undefined ? "" : timeOfDay(time)}</span>
          </p>
        </figcaption>
        <div class="canvas" role="img" aria-label=${`${title} ${unit} over the last hour; latest: ${figures.join(", ") || "none"}`} ref=${this.place}></div>
        <p class="nothing" hidden=${!this.isEmpty}>${empty}</p>
      </figure>
    `;
  }
}

/**
 * A top for an axis that does not move with every sample.
 *
 * @param {number | null} max
 */
function roundedUp(max) {
  if (max === null || max <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(max));
  return unit * ([1, 2, 5, 10].find((step) => step * unit >= max) ?? 10);
}

/**
 * @param {number} seconds
 * @param {number} step of the axis, in seconds.
 */
function clock(seconds, step) {
  const text = timeOfDay(seconds);
  return step < 60 ? text : text.slice(0, "12:00".length);
}

/**
 * What there is of the last hour, but a minute at least: the plots of a server that has just started are not all at one end.
 *
 * @param {number | null} start
 * @param {number | null} end
 * @returns {[number, number]}
 */
function spanOf(start, end) {
  const last = end ?? Date.now() / 1_000;
  return [Math.min(start ?? last, last - 60), last];
}
