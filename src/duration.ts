// Moments and spans of time as operators write them.

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** A hundred years: what lies further ahead is a slip of the keyboard. */
const spanMsMax = 100 * 365.25 * 86_400_000;

/** The milliseconds that `90d`, `12h`, `30m`, `45s`, `2w` mean; NaN if the text is none of these, or over a hundred years. */
export function parseDurationMs(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  const spanMs = Number(count) * (unitMs[unit] ?? 0);
  return spanMs < spanMsMax ? spanMs : Number.NaN;
}

/**
 * The moment, in milliseconds since the epoch, that a span from now or an ISO 8601 date or time means; undefined if
 * the text is neither, or does not lie ahead of now, by a hundred years at most.
 */
export function parseTimestamp(text: string, now: number): number | undefined {
  const spanMs = parseDurationMs(text);
  const moment = Number.isNaN(spanMs) ? dateFromText(text) : now + spanMs;
  return moment > now && moment - now < spanMsMax ? moment : undefined;
}

/** The moment of an ISO 8601 date or time; NaN if it is none, or a day that no calendar has. */
function dateFromText(text: string): number {
  const isIso = /^\d{4}-\d{2}-\d{2}(?:T[0-9:.]+(?:Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const day = text.slice(0, "2027-01-31".length);
  const isDay = isIso && new Date(Date.parse(`${day}T00:00:00Z`)).toJSON()?.startsWith(day);
  return isDay ? Date.parse(text) : Number.NaN;
}
