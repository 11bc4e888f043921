// Draws a chart with its read-out and its keys, by uPlot.

import { formatTime } from "./formats.ts";
import { useListener } from "./hooks.ts";
import { uPlot, useLayoutEffect, useRef, useState } from "./library.js";
import { html } from "./markup.ts";

interface Line {
  label: string;
  /** A variable of the style sheet. */
  colour: string;
  values: (number | null)[];
}

export interface ChartProperties {
  title: string;
  caption: string;
  empty: string;
  unit: string;
  /** Bars are stacked. */
  kind: "bars" | "lines";
  lines: Line[];
  format: (value: number) => string;
}

/** Shared by all charts of a section, in seconds since the epoch. */
export interface TimeAxis {
  /** The starts of the buckets that have a value each. */
  times: number[];
  min: number;
  max: number;
}

interface ShownChart extends ChartProperties {
  axis: TimeAxis;
}

const height = 140;

/** Such as "1.5K". */
const axisFormat = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

const darkScheme = matchMedia("(prefers-color-scheme: dark)");

export function Chart(chart: ShownChart) {
  const { title, caption, lines, empty, axis } = chart;
  /** The index of the value that is read out. */
  const [hovered, setHovered] = useState<number | null>(null);
  const time = hovered === null ? undefined : axis.times[hovered];
  const isEmpty = !lines.some(({ values }) => values.some((value) => value !== null && value > 0));
  return html`
    <figure class="chart">
      <figcaption>
        <h3>${title}</h3>
        ${!isEmpty && html`<p class="present">${time === undefined ? caption : formatTime(time * 1_000)}</p>`}
      </figcaption>
      ${
        isEmpty
          ? html`<p class="empty">${empty}</p>`
          : html`
            <${Plot} ...${chart} hovered=${hovered} onHover=${setHovered} />
            <p class="readout">
              ${lines.map(
                ({ label, colour, values }) => html`
                  <span class="key">
                    <i aria-hidden="true" style=${{ color: `var(${colour})` }}>■ </i>${label}
                    ${hovered !== null && html` <b>${valueText(chart, values[hovered])}</b>`}
                  </span>
                `,
              )}
            </p>
          `
      }
    </figure>
  `;
}

function Plot({
  hovered,
  onHover,
  ...chart
}: ShownChart & { hovered: number | null; onHover: (index: number | null) => void }) {
  const { title, unit, lines, kind, axis } = chart;
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef(chart);
  newest.current = chart;
  const [isDark, setDark] = useState(darkScheme.matches);
  useListener(darkScheme, "change", () => setDark(darkScheme.matches));

  // The largest sum of a stack is drawn first, so that the others are visible before it.
  const drawn = kind === "lines" ? lines.map(({ values }) => values) : stack(lines).toReversed();
  const data = [axis.times, ...drawn] as uPlot.AlignedData;
  /** The plot is made again if it changes. */
  const key = `${lines.map(({ label, colour }) => label + colour).join()} ${unit} ${isDark}`;
  useLayoutEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const made = new uPlot(plotOptions(element, newest, onHover), data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && made.width !== width) made.setSize({ width, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [key]);
  useLayoutEffect(() => plot.current?.setData(data));

  /** Moves the read-out by the keyboard. */
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const last = axis.times.length - 1;
    const time = axis.times[Math.max(0, Math.min(last, (hovered ?? last) + step))];
    if (plot.current === null || time === undefined) return;
    plot.current.setCursor({ left: plot.current.valToPos(time, "x"), top: 10 });
  };
  const values = lines.map(
    (line) => `${line.label} ${valueText(chart, line.values[hovered ?? line.values.length - 1])}`,
  );
  return html`
    <div
      class="canvas"
      ref=${container}
      role="img"
      tabindex="0"
      aria-label=${`${title}, ${unit}: ${values.join(", ")}. Arrow keys read values.`}
      onKeyDown=${onKey}
    ></div>
  `;
}

function plotOptions(
  container: HTMLElement,
  newest: { readonly current: ShownChart },
  onHover: (index: number | null) => void,
): uPlot.Options {
  // A variable with light-dark() has one value only as the colour of an element.
  const colour = (name: string) => {
    container.style.color = `var(${name})`;
    return getComputedStyle(container).color;
  };
  const font = "11px system-ui, sans-serif";
  const axis = {
    stroke: colour("--faint"),
    grid: { stroke: colour("--rule"), width: 1 },
    ticks: { show: false },
    font,
  };
  const { kind, lines, unit } = newest.current;
  const isBars = kind === "bars";
  // A bar begins where its time does, so the newest one is as wide as the others.
  const bars = uPlot.paths.bars?.({ size: [0.7, 12], align: 1 });
  const series = lines.map(({ label, colour: name }) => ({
    label,
    stroke: colour(name),
    width: isBars ? 0 : 1.5,
    ...(isBars && { fill: colour(name), ...(bars !== undefined && { paths: bars }) }),
    points: { show: !isBars, size: 4, fill: colour(name) },
  }));
  return {
    width: container.clientWidth,
    height,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 7 },
      drag: { x: false, y: false },
      sync: { key: "activity" },
    },
    scales: {
      x: { time: true, range: () => [newest.current.axis.min, newest.current.axis.max] },
      y: { range: (_, __, max) => [0, axisMax(max, isBars)] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        space: 44,
        values: (_, ticks, __, ___, step) => ticks.map((tick) => formatAxisTime(tick, step)),
      },
      {
        ...axis,
        label: unit,
        labelFont: font,
        labelSize: 16,
        labelGap: 0,
        size: 38,
        space: 34,
        values: (_, ticks) => ticks.map((tick) => axisFormat.format(tick)),
      },
    ],
    series: [{}, ...(isBars ? series.toReversed() : series)],
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  };
}

/** The values of stacked bars: each is drawn on the sum of those before it. */
function stack(lines: Line[]): (number | null)[][] {
  let below: (number | null)[] = [];
  return lines.map(({ values }) => {
    below = values.map((value, index) => (value === null ? null : value + (below[index] ?? 0)));
    return below;
  });
}

function valueText({ format }: ChartProperties, value: number | null | undefined) {
  return value === null || value === undefined ? "–" : format(value);
}

/** The maximum of an axis, rounded up so that it does not change with every sample. */
function axisMax(max: number | null, isCount: boolean) {
  if (max === null || max <= 0) return 1;
  // Counts are whole: no line of the grid between 0 and 1.
  if (isCount && max <= 4) return Math.max(2, max);
  const unit = 10 ** Math.floor(Math.log10(max));
  return unit * ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= max) ?? 10);
}

/** @param step of the axis, in seconds. */
function formatAxisTime(seconds: number, step: number) {
  const text = formatTime(seconds * 1_000);
  return step < 60 ? text : text.slice(0, "12:00".length);
}
