// Retry-After (RFC 9110, section 10.2.3): seconds, or an HTTP-date.

/** Every HTTP-date begins with a day's name; Date.parse alone would take "-1" and "2.5" for dates as well. */
const httpDate = /^[A-Za-z]{3,9},? /;

/** The pause that an answer asks for, in milliseconds; undefined if it asks for none that can be read. */
export function retryAfterMsOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const until = momentOf(value);
  // Against the sender's own clock where it shows it (browsers hide Date across origins): ours may be wrong.
  const now = momentOf(headers.get("date") ?? "") ?? Date.now();
  return until === undefined ? undefined : Math.max(0, until - now);
}

function momentOf(text: string): number | undefined {
  const ms = httpDate.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
