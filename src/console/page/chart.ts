// Draws a chart as SVG, with its keys. The values of a time are the tooltip of its place.

import { formatTime } from "./formats.ts";
import { html } from "./markup.ts";

type Values = readonly (number | null)[];

export interface ChartProperties {
  title: string;
  caption: string;
  empty: string;
  /** Such as "per 10 s". */
  unit: string;
  /** Bars are stacked. */
  kind: "bars" | "lines";
  /** The colour is a variable of the style sheet. */
  lines: readonly { label: string; colour: string; values: Values }[];
  format: (value: number) => string;
  /** The start of the first value, the time between two, and the places for values. */
  axis: { startsAtMs: number; stepMs: number; slots: number };
}

/** A place is as wide as one unit of the SVG, which is stretched to the width of the card. */
const height = 100;

export function Chart(chart: ChartProperties) {
  const { title, caption, unit, lines, empty } = chart;
  const isEmpty = !lines.some(({ values }) => values.some((value) => value !== null && value > 0));
  return html`
    <figure class="chart">
      <figcaption>
        <h3>${title}</h3>
        ${!isEmpty && html`<small>${unit}</small>`}
        ${!isEmpty && html`<p class="present">${caption}</p>`}
      </figcaption>
      ${
        isEmpty
          ? html`<p class="empty">${empty}</p>`
          : html`
            <${Plot} ...${chart} />
            <p class="readout">
              ${lines.map(({ label, colour }) => html`<span><i aria-hidden="true" style=${{ color: `var(${colour})` }}>■ </i>${label}</span>`)}
            </p>
          `
      }
    </figure>
  `;
}

function Plot({ title, unit, kind, lines, format, axis: { startsAtMs, stepMs, slots } }: ChartProperties) {
  const isBars = kind === "bars";
  const drawn = isBars ? stacked(lines.map(({ values }) => values)) : lines.map(({ values }) => values);
  const max = axisMax(Math.max(...drawn.flat().map((value) => value ?? 0)), isBars);
  const count = lines[0]?.values.length ?? 0;
  const [first, y] = [slots - count, (value: number) => height - (value * height) / max];
  const draw = (values: Values) => (isBars ? barsPath(values, first, y) : linePath(values, first, y));
  const valuesAt = (index: number) =>
    lines.map(({ label, values }) => `${label} ${valueText(format, values[index])}`).join(", ");
  const timeOf = (slot: number) => formatTime(startsAtMs + (slot - first) * stepMs);
  return html`
    <div class=${`plot ${kind}`}>
      <p aria-hidden="true"><span>${format(max)}</span><span>${format(max / 2)}</span><span>0</span></p>
      <svg role="img" aria-label=${`${title} ${unit}: ${valuesAt(count - 1)}`} viewBox=${`0 0 ${slots} ${height}`} preserveAspectRatio="none">
        ${lines
          .map(
            ({ colour }, index) =>
              html`<path style=${{ color: `var(${colour})` }} d=${draw(drawn[index] ?? [])} />`,
          )
          // The largest sum of a stack is drawn first, so that the others are visible before it.
          .toReversed()}
        ${Array.from({ length: count }, (_, index) => html`<rect x=${first + index} width="1" height=${height}><title>${timeOf(first + index)}: ${valuesAt(index)}</title></rect>`)}
      </svg>
      <p aria-hidden="true">${[0, slots / 2, slots].map((slot) => html`<span>${timeOf(slot).slice(0, "12:00".length)}</span>`)}</p>
    </div>
  `;
}

/** The values of stacked bars: each is drawn on the sum of those before it. */
function stacked(all: readonly Values[]): Values[] {
  let below: number[] = [];
  return all.map((values) => {
    below = values.map((value, index) => (value ?? 0) + (below[index] ?? 0));
    return below;
  });
}

function barsPath(values: Values, first: number, y: (value: number) => number) {
  return values.map((value, index) => `M${first + index} ${height}V${y(value ?? 0)}h.7V${height}z`).join("");
}

/** A value between two missing ones is a dot. */
function linePath(values: Values, first: number, y: (value: number) => number) {
  const parts = values.map((value, index) => {
    if (value === null) return "";
    const start = (values[index - 1] ?? null) === null ? "M" : "L";
    return `${start}${first + index + 0.5} ${y(value)}h0`;
  });
  return parts.join("");
}

function valueText(format: ChartProperties["format"], value: number | null | undefined) {
  return value === null || value === undefined ? "–" : format(value);
}

/** The maximum of an axis, rounded up so that it does not change with every sample. */
function axisMax(max: number, isCount: boolean) {
  if (isCount && max <= 2) return 2;
  const unit = 10 ** Math.floor(Math.log10(max));
  return unit * ([1, 2, 4, 6, 8, 10].find((step) => step * unit >= max) ?? 10);
}
