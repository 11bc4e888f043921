// Moments as operators write them.

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/**
 * The moment, in milliseconds since the epoch, that `90d`, `12h`, `30m`, `45s`, `2w` from now or an ISO 8601 date
 * or time means; undefined if the text is none of these or does not lie ahead of now.
 */
export function momentFromText(text: string, now: number): number | undefined {
  const [, count, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  const isDate = /^\d{4}-\d{2}-\d{2}(?:T[0-9:.]+(?:Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const moment =
    count === undefined
      ? isDate
        ? Date.parse(text)
        : Number.NaN
      : now + Number(count) * (unitMs[unit] ?? 0);
  return moment > now ? moment : undefined;
}
