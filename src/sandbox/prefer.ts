// The request header Prefer (RFC 7240), by which a client asks for an outcome, with the names of Prism: code and example;
// and delay, in seconds.

import { errorRegistry } from "../core/contract/errors.ts";
import { delaySecondsMax, type Example, examples, findError, type Outcome } from "./outcome.ts";

/** An outcome that a client asks for. */
export interface PreferredOutcome {
  readonly outcome: Outcome;
  /** The preferences that are followed, such as `code=429, delay=2.5`. */
  readonly preferences: string;
}

/**
 * The outcome of a Prefer field; undefined if it asks for none. Preferences that are unknown, or cannot be met, are ignored
 * (RFC 7240, section 2).
 *
 * @param value of the field; of several fields the values, joined by commas.
 */
export function parsePreferredOutcome(value: string): PreferredOutcome | undefined {
  const preferences = parsePrefer(value);
  const code = numberOf(preferences.get("code"), /^\d{3}(?:\d{2})?$/);
  const error = code === undefined ? undefined : findError(code);
  const example = examples.get(preferences.get("example") ?? "");
  const seconds = numberOf(preferences.get("delay"), /^\d{1,9}(?:\.\d{1,9})?$/);

  const isExampleMet = example !== undefined && (code === undefined || isExampleOf(example, code));
  const isDelayMet = seconds !== undefined && seconds <= delaySecondsMax;
  const outcome: Outcome = {
    ...(isExampleMet ? { example } : error === undefined ? {} : { error }),
    ...(isDelayMet ? { delay: { distribution: { seconds }, when: "before" } } : {}),
  };
  const isCodeMet = code !== undefined && (error !== undefined || isExampleMet);
  const followed = [
    ...(isCodeMet ? [`code=${code}`] : []),
    ...(isExampleMet ? [`example=${example.name}`] : []),
    ...(isDelayMet ? [`delay=${seconds}`] : []),
  ];
  return followed.length === 0 ? undefined : { outcome, preferences: followed.join(", ") };
}

function numberOf(text: string | undefined, form: RegExp): number | undefined {
  return text !== undefined && form.test(text) ? Number(text) : undefined;
}

/** Whether an example is of the response with a status, or of the error with a code. */
function isExampleOf({ status, error }: Example, code: number): boolean {
  if (code < 1_000) return status === code;
  return error !== undefined && errorRegistry[error].error === code;
}

const token = "[!#$%&'*+.^_`|~\\w-]+";
const quotedString = '"(?:[^"\\\\]|\\\\.)*"';
const word = `(?:${token}|${quotedString})`;

/** RFC 7240, section 2: a preference with its value and its parameters, and what separates it from the next. */
const preference = new RegExp(
  `[ \\t]*(?:(?<name>${token})(?:[ \\t]*=[ \\t]*(?<value>${word})?)?` +
    `(?:[ \\t]*;[ \\t]*(?:${token}(?:[ \\t]*=[ \\t]*${word}?)?)?)*)?[ \\t]*(?:,|$)`,
  "y",
);

/**
 * The preferences of a field, by their names in lower case; "" for one without a value. Of several with one name it is the
 * first. From a syntax error on the rest of its list element is skipped.
 */
export function parsePrefer(field: string): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>();
  let at = 0;
  while (at < field.length) {
    preference.lastIndex = at;
    const match = preference.exec(field);
    if (match === null) {
      at = elementEnd(field, at);
      continue;
    }
    at = preference.lastIndex;
    const { name, value = "" } = match.groups ?? {};
    if (name !== undefined && !preferences.has(name.toLowerCase()))
      preferences.set(name.toLowerCase(), unquote(value));
  }
  return preferences;
}

/** The index behind the next comma that is not in a quoted string. */
function elementEnd(field: string, start: number): number {
  let isQuoted = false;
  for (let at = start; at < field.length; at++) {
    if (field[at] === "\\" && isQuoted) at++;
    else if (field[at] === '"') isQuoted = !isQuoted;
    else if (field[at] === "," && !isQuoted) return at + 1;
  }
  return field.length;
}

function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, "$1") : value;
}
