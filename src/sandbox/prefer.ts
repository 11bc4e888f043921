// Reads the request header Prefer (RFC 7240), by which a client asks for an outcome, with the names
// of Prism: code and example; and delay, in seconds.

import type { Outcome } from "../../packages/sandbox/src/control-types.ts";
import { errorRegistry } from "../base/errors.ts";
import { type ErrorShape, errorMembers } from "../contract/error-format.ts";
import { toExactJson } from "../json/exact-json.ts";
import type { Json } from "../json/json-values.ts";
import type { Example, Examples } from "./response-examples.ts";
import type { ForcedOutcome } from "./rules.ts";

const delaySecondsMax = 3_600;

/** The error of a preference that cannot be met, which no server has. */
const invalidPreferenceError = 40010;

/**
 * The outcome of a Prefer field; undefined if it asks for none. Preferences with other names are
 * ignored (RFC 7240, section 2); one of these names that cannot be met is an error, as a test that
 * relies on it would pass without it.
 *
 * @param value of the field; of several fields the values, joined by commas.
 * @param examples of the operation; undefined for one that chooses its responses itself.
 * @param shape of the error of a preference that cannot be met.
 */
export function parsePreferredOutcome(
  value: string,
  examples: Examples | undefined,
  shape: ErrorShape,
): ForcedOutcome | undefined {
  const preferences = parsePrefer(value);
  const asked = [...(examples === undefined ? [] : ["code", "example"]), "delay"]
    .filter((name) => preferences.has(name))
    .map((name) => `${name}=${preferences.get(name)}`);
  if (asked.length === 0) return undefined;
  const text = asked.join(", ");
  const response =
    examples === undefined
      ? {}
      : parseResponse(examples, preferences.get("code"), preferences.get("example"));
  const delay = parseDelay(preferences.get("delay"));
  if (typeof response === "string") return unmet(text, response, shape);
  if (typeof delay === "string") return unmet(text, delay, shape);
  return { outcome: { ...response, ...delay }, by: { prefer: text }, applied: text };
}

function unmet(preferences: string, reason: string, shape: ErrorShape): ForcedOutcome {
  const headers = { "Content-Type": shape.contentType };
  const response = { status: 400, body: unmetBody(reason, shape) };
  return { outcome: { response, headers }, by: { prefer: preferences } };
}

function unmetBody(reason: string, shape: ErrorShape): Json {
  return errorMembers(shape, {
    code: invalidPreferenceError,
    status: 400,
    title: "The preference cannot be met",
    message: `Prefer: ${reason}`,
  });
}

/** The response to a request with a preference that cannot be met. */
export function unmetPreference(reason: string, shape: ErrorShape): Response {
  const headers = { "Content-Type": shape.contentType };
  return new Response(toExactJson(unmetBody(reason, shape)), { status: 400, headers });
}

/** Returns the reason as a string if there is no such response. */
function parseResponse(
  examples: Examples,
  code: string | undefined,
  name: string | undefined,
): Outcome | string {
  const example = examples.byName.get(name ?? "");
  if (name !== undefined && example === undefined)
    return `there is no example ${JSON.stringify(name)} in openapi.json.`;
  const number = /^[1-9]\d{2}(?:\d{2})?$/.test(code ?? "") ? Number(code) : undefined;
  if (example !== undefined) {
    if (code === undefined || (number !== undefined && isExampleOf(example, number)))
      return { example: example.name };
    return `${example.name} is not an example of code=${code}.`;
  }
  if (code === undefined) return {};
  const error = number === undefined ? undefined : examples.findError(number);
  if (error !== undefined) return { error };
  if (number !== undefined && number >= 400 && number <= 599) return { response: { status: number } };
  return `code=${code} is neither a status from 400 to 599 nor the code of an error; for 200, name an example.`;
}

function parseDelay(text: string | undefined): Pick<Outcome, "delay"> | string {
  if (text === undefined) return {};
  const seconds = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= delaySecondsMax) return { delay: { seconds } };
  return `delay=${text} is not a number of seconds up to ${delaySecondsMax}.`;
}

/** Whether an example is of the response with a status, or of the error with a code. */
function isExampleOf({ status, error }: Example, code: number): boolean {
  if (code < 1_000) return status === code;
  return error !== undefined && errorRegistry[error].error === code;
}

/** RFC 9110, section 5.6.4. */
const quotedString = /"(?:[^"\\]|\\.)*"/g;

/**
 * A preference at the start of a list element, and its value, which may be quoted. Parameters are
 * not read. No two neighbours match the same text, so that the time is linear.
 */
const preference = /(?<![^,])[ \t]*([\w-]+)(?:[ \t]*=[ \t]*"?([^\s",;]*))?/g;

/**
 * The preferences of a field, by their names in lower case. Of several with one name it is the
 * first.
 */
export function parsePrefer(field: string): ReadonlyMap<string, string> {
  // A comma in quotes ends no element.
  const elements = field.replaceAll(quotedString, (quoted) => quoted.replaceAll(",", " "));
  const pairs = Array.from(
    elements.matchAll(preference),
    ([, name = "", value = ""]) => [name, value] as const,
  );
  return new Map(pairs.map(([name, value]) => [name.toLowerCase(), value] as const).toReversed());
}
