// The request header Prefer (RFC 7240), by which a client asks for an outcome, with the names of
// Prism: code and example; and delay, in seconds.

import { errorRegistry } from "../core/contract/errors.ts";
import { delaySecondsMax, type Example, examples, findError, type Outcome } from "./outcome.ts";

/** An outcome that a client asks for. */
export interface PreferredOutcome {
  readonly outcome: Outcome;
  /** The preferences that are followed, such as `code=429, delay=2.5`. */
  readonly preferences: string;
}

/** A preference for an unknown outcome. The message is a sentence. */
export class InvalidPreferenceError extends Error {}

/**
 * The outcome of a Prefer field; undefined if it asks for none. Preferences with other names are
 * ignored (RFC 7240, section 2); one of these names that cannot be met is an error, as a test that
 * relies on it would pass without it.
 *
 * @param value of the field; of several fields the values, joined by commas.
 */
export function parsePreferredOutcome(value: string): PreferredOutcome | InvalidPreferenceError | undefined {
  const preferences = parsePrefer(value);
  const followed = ["code", "example", "delay"]
    .filter((name) => preferences.has(name))
    .map((name) => `${name}=${preferences.get(name)}`);
  if (followed.length === 0) return undefined;
  const response = parseResponse(preferences.get("code"), preferences.get("example"));
  if (response instanceof InvalidPreferenceError) return response;
  const delay = parseDelay(preferences.get("delay"));
  if (delay instanceof InvalidPreferenceError) return delay;
  return { outcome: { ...response, ...delay }, preferences: followed.join(", ") };
}

function parseResponse(code: string | undefined, name: string | undefined): Outcome | InvalidPreferenceError {
  const example = examples.get(name ?? "");
  if (name !== undefined && example === undefined)
    return new InvalidPreferenceError(`Prefer: there is no example ${JSON.stringify(name)} in openapi.yaml.`);
  const number = /^[1-9]\d{2}(?:\d{2})?$/.test(code ?? "") ? Number(code) : undefined;
  if (example !== undefined) {
    if (code === undefined || (number !== undefined && isExampleOf(example, number)))
      return { example: example.name };
    return new InvalidPreferenceError(`Prefer: ${example.name} is not an example of code=${code}.`);
  }
  if (code === undefined) return {};
  const error = number === undefined ? undefined : findError(number);
  if (error !== undefined) return { error };
  if (number !== undefined && number >= 400 && number <= 599) return { response: { status: number } };
  return new InvalidPreferenceError(
    `Prefer: code=${code} is neither a status from 400 to 599 nor the code of an error; for 200, name an example.`,
  );
}

function parseDelay(text: string | undefined): Pick<Outcome, "delay"> | InvalidPreferenceError {
  if (text === undefined) return {};
  const seconds = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= delaySecondsMax) return { delay: { seconds } };
  return new InvalidPreferenceError(
    `Prefer: delay=${text} is not a number of seconds up to ${delaySecondsMax}.`,
  );
}

/** Whether an example is of the response with a status, or of the error with a code. */
function isExampleOf({ status, error }: Example, code: number): boolean {
  if (code < 1_000) return status === code;
  return error !== undefined && errorRegistry[error].error === code;
}

/**
 * The preferences of a field, by their names in lower case; "" for one without a value. Of several
 * with one name it is the first. A list element with a syntax error is skipped.
 */
export function parsePrefer(field: string): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>();
  const scanner = new Scanner(field);
  while (!scanner.isAtEnd) {
    const start = scanner.at;
    const preference = parsePreference(scanner);
    if (preference === undefined) {
      scanner.at = elementEnd(field, start);
      continue;
    }
    const [name, value] = preference;
    if (name !== "" && !preferences.has(name)) preferences.set(name, value);
  }
  return preferences;
}

/**
 * A preference (RFC 7240, section 2) with the comma behind it; its name is "" for an empty list
 * element. Undefined if it has a syntax error. One pass: a single expression for all of it
 * backtracked for seconds on `p;a= ;a= ;a= `.
 */
function parsePreference(scanner: Scanner): [name: string, value: string] | undefined {
  const name = scanner.take(token) ?? "";
  const value = (name !== "" && takeValue(scanner)) || "";
  while (name !== "" && scanner.takeCharacter(";")) if (scanner.take(token) !== undefined) takeValue(scanner);
  return scanner.isAtEnd || scanner.takeCharacter(",") ? [name.toLowerCase(), unquote(value)] : undefined;
}

/** Takes `=` and a word, either of which may be missing. */
function takeValue(scanner: Scanner): string | undefined {
  return scanner.takeCharacter("=") ? (scanner.take(token) ?? scanner.take(quotedString)) : undefined;
}

const token = /[!#$%&'*+.^_`|~\w-]+/y;
const quotedString = /"(?:[^"\\]|\\.)*"/y;

/** Takes parts from the front of a text. It skips the spaces and tabs before each of them. */
class Scanner {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    this.#skipBlanks();
    return this.at === this.#text.length;
  }

  take(part: RegExp): string | undefined {
    this.#skipBlanks();
    part.lastIndex = this.at;
    const taken = part.exec(this.#text)?.[0];
    if (taken !== undefined) this.at += taken.length;
    return taken;
  }

  takeCharacter(character: string): boolean {
    this.#skipBlanks();
    if (this.#text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  #skipBlanks(): void {
    while (this.#text[this.at] === " " || this.#text[this.at] === "\t") this.at++;
  }
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
