// Durations and timestamps as operators write them.

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
 * Parses a duration from now, or an ISO 8601 date or time, to milliseconds since the epoch;
 * undefined unless it is after now and less than a hundred years away.
 */
export function parseTimestamp(text: string, now: number): number | undefined {
  const durationMs = parseDurationMs(text);
  const timestamp = Number.isNaN(durationMs) ? parseIsoDate(text) : now + durationMs;
  return timestamp > now && timestamp - now < durationMsMax ? timestamp : undefined;
}

/** Milliseconds since the epoch of an ISO 8601 date or time; NaN for 30 February and the like. */
function parseIsoDate(text: string): number {
  const isIso = /^\d{4}-\d{2}-\d{2}(?:T[0-9:.]+(?:Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const day = text.slice(0, "2027-01-31".length);
  const isDay = isIso && new Date(Date.parse(`${day}T00:00:00Z`)).toJSON()?.startsWith(day);
  return isDay ? Date.parse(text) : Number.NaN;
}
