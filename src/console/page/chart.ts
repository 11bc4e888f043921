// A chart with its read-out, its keys and its zoom, drawn by uPlot.

import { formatTime, html } from "./format.ts";
import { useListener } from "./hooks.ts";
import { uPlot, useLayoutEffect, useRef, useState } from "./library.js";

interface Line {
  label: string;
  colour: string;
  values: (number | null)[];
}

/** In seconds since the epoch. */
export interface TimeRange {
  min: number;
  max: number;
}

export interface ChartProperties {
  title: string;
  caption: string;
  empty: string;
  unit: string;
  /** Bars and areas are stacked. */
  kind: "bars" | "areas" | "lines";
  /** The length of a bar's time. */
  barSeconds?: number;
  times: number[];
  lines: Line[];
  format: (value: number) => string;
  errorsSeconds?: number;
}

/** A chart, with the handlers of its section. */
interface ShownChart extends ChartProperties {
  shown: TimeRange;
  onZoom: (zoom: TimeRange | null) => void;
  onErrors: ((span: { from: number; end: number }) => void) | undefined;
}

const height = 132;

/** Such as "1.5K". */
const axisFormat = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

const darkScheme = matchMedia("(prefers-color-scheme: dark)");

export function Chart(chart: ShownChart) {
  const { title, caption, unit, times, lines, empty } = chart;
  /** The index of the value that is read out. */
  const [hovered, setHovered] = useState<number | null>(null);
  const time = hovered === null ? undefined : times[hovered];
  const isEmpty = !lines.some(({ values }) => values.some((value) => value !== null && value > 0));
  return html`
    <figure class="chart">
      <figcaption>
        <h3>${title}</h3>
        <p class="present">${time === undefined ? caption : formatTime(time * 1_000)}</p>
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
              <span class="unit faint">${unit}</span>
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
  const { title, unit, times, lines, kind, shown, errorsSeconds, onZoom, onErrors } = chart;
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef(chart);
  newest.current = chart;
  const [isDark, setDark] = useState(darkScheme.matches);
  useListener(darkScheme, "change", () => setDark(darkScheme.matches));

  // The largest sum of a stack is drawn first, so that the others are visible before it.
  const drawn = kind === "lines" ? lines.map(({ values }) => values) : stack(lines).toReversed();
  const data = [times, ...drawn] as uPlot.AlignedData;
  /** The plot is made again if it changes. */
  const key = `${lines.map(({ label, colour }) => label + colour).join()} ${kind} ${isDark}`;
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

  /** Moves the read-out, and zooms, by the keyboard. */
  const onKey = (event: KeyboardEvent) => {
    const at = hovered ?? times.length - 1;
    const middle = times[at] ?? shown.max;
    const length = shown.max - shown.min;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => moveTo(at - 1),
      ArrowRight: () => moveTo(at + 1),
      Enter: listErrors,
      "+": () => length > 40 && onZoom({ min: middle - length / 4, max: middle + length / 4 }),
      "-": () => onZoom(null),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  /** Lists the errors of the minute, or of the longer bar, at the read-out. */
  const listErrors = () => {
    const time = times[hovered ?? -1];
    if (errorsSeconds === undefined || time === undefined || onErrors === undefined) return;
    const from = Math.floor(time / errorsSeconds) * errorsSeconds;
    onErrors({ from: from * 1_000, end: (from + errorsSeconds) * 1_000 });
  };
  const moveTo = (at: number) => {
    const time = times[Math.max(0, Math.min(times.length - 1, at))];
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
      aria-label=${`${title}, ${unit}: ${values.join(", ")}. Arrow keys read values, plus and minus zoom${errorsSeconds === undefined ? "" : ", Enter lists the errors of a minute"}.`}
      title=${errorsSeconds === undefined ? null : "Click on a bar to list its errors"}
      onClick=${listErrors}
      onKeyDown=${onKey}
      onDblClick=${() => onZoom(null)}
    ></div>
  `;
}

function plotOptions(
  container: HTMLElement,
  newest: { readonly current: Omit<ShownChart, "hovered" | "onHover"> },
  onHover: (index: number | null) => void,
): uPlot.Options {
  // A variable with light-dark() has one value only as the colour of an element.
  const colour = (name: string) => {
    container.style.color = `var(${name})`;
    return getComputedStyle(container).color;
  };
  const pale = (name: string) => colour(name).replace("rgb(", "rgba(").replace(")", ", 0.15)");
  const axis = {
    stroke: colour("--faint"),
    grid: { stroke: colour("--rule"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  const { kind, lines, onZoom } = newest.current;
  const hasBars = kind === "bars";
  const paths = hasBars
    ? uPlot.paths.bars?.({ size: [0.6, Infinity, 2], disp: barPlaces(newest) })
    : uPlot.paths.linear?.();
  const series = lines.map(({ label, colour: name }) => ({
    label,
    stroke: colour(name),
    width: hasBars ? 0 : 1.5,
    ...(paths === undefined ? {} : { paths }),
    ...(kind === "lines" ? {} : { fill: hasBars ? colour(name) : pale(name) }),
    // A sample between two gaps has no line.
    points: { show: !hasBars, size: 5, fill: colour(name), filter: isolatedPoints },
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
      x: { time: true, range: () => [newest.current.shown.min, newest.current.shown.max] },
      y: { range: (_, __, max) => [0, axisMax(max, hasBars)] },
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
        size: 44,
        space: 34,
        values: (_, ticks) => ticks.map((tick) => axisFormat.format(tick)),
      },
    ],
    series: [{}, ...(kind === "lines" ? series : series.toReversed())],
    hooks: {
      setCursor: [(plot) => onHover(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 8) return;
          const [min, max] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (max - min >= 10) onZoom({ min, max });
        },
      ],
    },
  };
}

/**
 * The left edges and the width of bars: uPlot itself would make all of them narrower while the newest
 * one is drawn before its middle. Of that one at least a third is drawn.
 */
function barPlaces(newest: { readonly current: Pick<ShownChart, "barSeconds" | "shown"> }) {
  const edges = ({ data: [times] }: uPlot) => {
    const { barSeconds = 1, shown } = newest.current;
    return Array.from(times, (time) =>
      Math.min((Math.floor(time / barSeconds) + 0.2) * barSeconds, shown.max - 0.2 * barSeconds),
    );
  };
  return {
    x0: { unit: 1, values: edges },
    size: { unit: 1, values: () => [0.6 * (newest.current.barSeconds ?? 1)] },
  };
}

/** The values of stacked lines: each is drawn on the sum of those before it. */
function stack(lines: Line[]): (number | null)[][] {
  let below: (number | null)[] = [];
  return lines.map(({ values }) => {
    below = values.map((value, index) => (value === null ? null : value + (below[index] ?? 0)));
    return below;
  });
}

/** The indexes of values with gaps on both sides. */
function isolatedPoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  return [...values.keys()].filter(
    (at) => isValue(values[at]) && !isValue(values[at - 1]) && !isValue(values[at + 1]),
  );
}

function isValue(value: number | null | undefined): value is number {
  return value !== null && value !== undefined;
}

function valueText({ format }: ChartProperties, value: number | null | undefined) {
  return isValue(value) ? format(value) : "–";
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
