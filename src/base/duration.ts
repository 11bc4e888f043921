// Parses durations and times as operators write them.

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

/**
 * Milliseconds since the epoch of a date or time in UTC, such as 2027-01-31 or 2027-01-31T12:00Z;
 * otherwise NaN.
 */
export function parseTime(text: string): number {
  if (!/^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/.test(text)) return Number.NaN;
  const time = Date.parse(text);
  // 29 February of another year is read as 1 March.
  const isDay = !Number.isNaN(time) && new Date(time).toISOString().startsWith(text.slice(0, 10));
  return isDay ? time : Number.NaN;
}

/**
 * Milliseconds since the epoch, at a time or after a duration from now; undefined unless it is in
 * the future, and less than a hundred years away.
 */
export function parseExpiry(text: string, now: number): number | undefined {
  const time = parseTime(text);
  const durationMs = Number.isNaN(time) ? parseDurationMs(text) : time - now;
  return durationMs > 0 && durationMs < durationMsMax ? now + durationMs : undefined;
}

/** Milliseconds since the epoch, at a time or a duration before now; undefined for another text. */
export function parseSince(text: string, now: number): number | undefined {
  const time = parseTime(text);
  const since = Number.isNaN(time) ? now - parseDurationMs(text) : time;
  return Number.isNaN(since) ? undefined : since;
}
