// Durations as operators write them.

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** A hundred years: anything longer is a typing error. */
const durationMsMax = 100 * 365.25 * 86_400_000;

/** Parses `90d`, `12h`, `30m`, `45s` or `2w` to milliseconds; NaN from a hundred years on. */
export function parseDurationMs(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  const durationMs = Number(count) * (unitMs[unit] ?? 0);
  return durationMs < durationMsMax ? durationMs : Number.NaN;
}

/** Milliseconds since the epoch, after a duration from now; undefined unless it is at least 1s. */
export function parseExpiry(text: string, now: number): number | undefined {
  const durationMs = parseDurationMs(text);
  return durationMs > 0 ? now + durationMs : undefined;
}
