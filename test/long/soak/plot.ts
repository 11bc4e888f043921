// Lines over time as an SVG that is readable on light and dark pages.

export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly series: readonly Series[];
}

interface Series {
  readonly name: string;
  /** One for each time; NaN where there is none. */
  readonly values: readonly number[];
}

const width = 860;
const left = 64;
const right = 84;
const panelHeight = 150;
const panelGap = 54;
const top = 34;
const ticks = 4;

const style = `
  :root { color-scheme: light dark; }
  text { font: 12px system-ui, sans-serif; fill: #333; }
  .title { font-weight: 600; }
  .grid { stroke: #ddd; }
  .line { fill: none; stroke-width: 1.5; }
  .s0 { stroke: #1f6feb; } .t0 { fill: #1f6feb; }
  .s1 { stroke: #bc4c00; } .t1 { fill: #bc4c00; }
  .page { fill: #fff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ccc; }
    .grid { stroke: #333; }
    .s0 { stroke: #58a6ff; } .t0 { fill: #58a6ff; }
    .s1 { stroke: #ffa657; } .t1 { fill: #ffa657; }
    .page { fill: #0d1117; }
  }`;

/** Panels under each other, over the same times in minutes. */
export function plot(minutes: readonly number[], panels: readonly Panel[]): string {
  const height = top + panels.length * (panelHeight + panelGap);
  const end = minutes.at(-1) ?? 1;
  const drawn = panels.map((panel, index) =>
    draw(panel, minutes, end, top + index * (panelHeight + panelGap)),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escapeXml(panels.map(({ title }) => title).join(", "))}</title>`,
    `<style>${style}</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

function draw({ title, unit, series }: Panel, minutes: readonly number[], end: number, y: number): string {
  const finite = series.flatMap(({ values }) => values.filter(Number.isFinite));
  const max = niceCeiling(Math.max(1, ...finite));
  const xOf = (minute: number) => left + (minute / end) * (width - left - right);
  const yOf = (value: number) => y + panelHeight * (1 - value / max);
  const rows = Array.from({ length: ticks + 1 }, (_, tick) => (max / ticks) * tick).map(
    (value) =>
      `<line class="grid" x1="${left}" x2="${width - right}" y1="${yOf(value)}" y2="${yOf(value)}"/>` +
      `<text x="${left - 8}" y="${yOf(value) + 4}" text-anchor="end">${value.toLocaleString("en")}</text>`,
  );
  const columns = Array.from({ length: ticks + 1 }, (_, tick) => (end / ticks) * tick).map(
    (minute) =>
      `<text x="${xOf(minute)}" y="${y + panelHeight + 18}" text-anchor="middle">${Number(minute.toPrecision(2))} min</text>`,
  );
  const lines = series.map(({ name, values }, index) => {
    const points = values
      .map((value, at) => [minutes[at] ?? 0, value] as const)
      .filter(([, value]) => Number.isFinite(value))
      .map(([minute, value]) => `${xOf(minute).toFixed(1)},${yOf(value).toFixed(1)}`);
    return (
      `<polyline class="line s${index}" points="${points.join(" ")}"/>` +
      `<text class="t${index}" x="${width - right + 8}" y="${y + 12 + 16 * index}">${escapeXml(name)}</text>`
    );
  });
  const heading = `<text class="title" x="${left}" y="${y - 12}">${escapeXml(`${title}, ${unit}`)}</text>`;
  return [heading, ...rows, ...columns, ...lines].join("\n");
}

/** The next of 1, 2, 4, 8 times a power of ten: its quarters are short numbers. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 4, 8, 10].find((step) => step * power >= value) ?? 10);
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
