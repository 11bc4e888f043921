// Medians with their range over the rounds, and numbers as text.

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** The values in the order of the rounds. */
  readonly rounds: readonly number[];
}

/** Values are kept with four significant digits, so that a result in JSON stays small. */
export function summarize(values: readonly number[]): Summary {
  const rounds = values.map((value) => Number(value.toPrecision(4)));
  const sorted = rounds.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2;
  return { median, min: at(0), max: at(sorted.length - 1), rounds };
}

/** The value at a quantile of unsorted values, by the nearest rank. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

/** About three significant digits: 0.71, 12.3, 31,250. */
export function formatNumber(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(value >= 10 ? 1 : 2);
}

/** The median, and the range in parentheses if there is one: 0.71 (0.65–0.80). */
export function formatSummary({ median, min, max }: Summary): string {
  if (min === max) return formatNumber(median);
  return `${formatNumber(median)} (${formatNumber(min)}–${formatNumber(max)})`;
}
