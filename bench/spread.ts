// The middle and the extremes of a figure that was measured several times.

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (index: number): number => {
    const value = sorted[index];
    if (value === undefined) throw new Error("nothing was measured");
    return value;
  };
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}

/** A spread as text: the median, and the range in parentheses if there is one. */
export function spreadText({ median, min, max }: Spread, text: (value: number) => string): string {
  if (min === max) return text(median);
  return `${text(median)} (${text(min)}–${text(max)})`;
}
