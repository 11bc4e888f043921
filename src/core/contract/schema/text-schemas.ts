// Texts with restrictions: lengths, patterns and formats.

import type { RE2JS } from "re2js";
import { contractError } from "../description/contract-error.ts";
import type { Json } from "./schemas.ts";
import type { TypeContext } from "./type-context.ts";

/** RFC 3339, section 5.6. The offset is required. */
const dateTimePattern =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const datePattern = /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

function isDate(value: string): boolean {
  const [, year, month, day] = datePattern.exec(value) ?? [];
  return day !== undefined && Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}

interface TextFormat {
  readonly expected: string;
  readonly example: string;
  accepts(value: string): boolean;
}

/** The formats that are checked, by name. None takes more than linear time. */
const formats: Readonly<Record<string, TextFormat>> = {
  "date-time": {
    expected: "a date and time such as 2026-11-24T12:00:00Z",
    example: "2026-11-24T12:00:00Z",
    accepts: (value) => isDate(dateTimePattern.exec(value)?.[1] ?? ""),
  },
  date: { expected: "a date such as 2026-11-24", example: "2026-11-24", accepts: isDate },
  uuid: {
    expected: "a UUID",
    example: "0196b5f4-2c1a-7c3e-9f52-5d3a1c7e8b90",
    accepts: (value) => /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(value),
  },
  email: {
    expected: "an email address",
    example: "someone@example.com",
    // RFC 5321: 254 characters at most.
    accepts: (value) =>
      value.length <= 254 &&
      /^[^\s@"(),:;<>[\\\]]{1,64}@[^\s@.]+(?:\.[^\s@.]+)*$/.test(value) &&
      !/^\.|\.@|\.\./.test(value),
  },
  uri: {
    expected: "a URI such as https://example.com/",
    example: "https://example.com/",
    // RFC 3986, section 2: these characters, and percent-encoded ones.
    accepts: (value) =>
      /^[a-z][a-z\d+.-]*:(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[\da-f]{2})*$/i.test(value) &&
      (!/^https?:/i.test(value) || URL.canParse(value)),
  },
};

/** How a text with a format looks; undefined if the format is not checked. */
export function textFormat(name: unknown): TextFormat | undefined {
  return typeof name === "string" && Object.hasOwn(formats, name) ? formats[name] : undefined;
}

/** Formats that say how a text is shown, and restrict nothing. */
const freeFormats: readonly unknown[] = [undefined, "password", "binary", "byte"];

/** Whether a format restricts texts, but is not checked. */
export function isUncheckedFormat(format: unknown): boolean {
  return textFormat(format) === undefined && !freeFormats.includes(format);
}

/** A pattern that every text fits that can be stored. */
export function isStorablePattern(pattern: unknown): boolean {
  return pattern === "^[^\\x00]*$" || pattern === "^[^\\u0000]*$";
}

/**
 * Steps of a match, one for each instruction of the pattern's program and character: some 15 ms,
 * where a common pattern takes 2 µs.
 */
const matchStepsMax = 200_000;

interface TextPattern {
  matches(text: string): boolean;
  /** UTF-16 code units of the texts that may be matched. */
  readonly codeUnitsMax: number;
}

/**
 * A pattern of the contract, matched in linear time: it is the author's, and the texts are a
 * stranger's.
 *
 * @param share of the time, as a request may have texts for several patterns.
 */
export async function textPattern(pattern: string, share: number, pointer: string): Promise<TextPattern> {
  // Loaded for contracts with patterns only.
  const { RE2JS } = await import("re2js");
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(toRe2(pattern));
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : String(error);
    throw contractError(
      pointer,
      `the pattern ${pattern} is not one of RE2, which has no look-around and no back-references (${reason})`,
    );
  }
  const codeUnitsMax = Math.max(1, Math.floor((matchStepsMax * share) / compiled.programSize()));
  return { matches: (text) => compiled.matcher(text).find(), codeUnitsMax };
}

/**
 * ECMA 262 writes U+0041 as \u0041 or \u{41}, and RE2 as \x{41}; `\/` and `\-` are escapes of
 * nothing.
 */
function toRe2(pattern: string): string {
  return pattern.replaceAll(
    /\\(?:u\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|(.))/gs,
    (written, long, short, other) => {
      if (long !== undefined || short !== undefined) return `\\x{${long ?? short}}`;
      return other === "/" ? "/" : written;
    },
  );
}

/** The texts that a schema accepts. */
export interface TextLimits {
  readonly expected: string;
  /** Undefined if it accepts every text. */
  readonly accepts: ((value: string) => boolean) | undefined;
}

/** The limits of `minLength`, `maxLength`, `pattern` and `format`. */
export async function textLimits(
  { minLength = 0, maxLength, pattern, format }: Json,
  { share, pointer, note }: TypeContext,
): Promise<TextLimits> {
  if (!isLength(minLength) || (maxLength !== undefined && !isLength(maxLength)))
    throw contractError(pointer, "minLength and maxLength must be whole numbers");
  const known = textFormat(format);
  const checks: ((value: string) => boolean)[] = [];
  const words: string[] = [];
  if (minLength > 0 || maxLength !== undefined) {
    // Code points, as in JSON Schema; to count them takes time only where the length decides.
    checks.push((value) => {
      if (value.length < minLength) return false;
      if (maxLength !== undefined && value.length > 2 * maxLength) return false;
      const isShort = maxLength === undefined || value.length <= maxLength;
      if (isShort && value.length >= 2 * minLength) return true;
      const length = [...value].length;
      return length >= minLength && (maxLength === undefined || length <= maxLength);
    });
    words.push(lengthWords(minLength, maxLength));
  }
  if (typeof pattern === "string" && !isStorablePattern(pattern)) {
    const { matches, codeUnitsMax } = await textPattern(pattern, share, pointer);
    const isLonger = maxLength === undefined || 2 * maxLength > codeUnitsMax;
    if (isLonger)
      note(
        `texts of more than ${codeUnitsMax} UTF-16 code units are refused, as the pattern takes long for them`,
      );
    checks.push((value) => value.length <= codeUnitsMax && matches(value));
    if (isLonger) words.push(`${words.length > 0 ? "and " : ""}of at most ${codeUnitsMax} characters`);
    words.push(`that matches ${pattern}`);
  }
  if (known !== undefined) checks.unshift(known.accepts);
  return {
    expected: [known?.expected ?? "a string", ...words].join(" "),
    accepts: checks.length === 0 ? undefined : (value) => checks.every((check) => check(value)),
  };
}

function isLength(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function lengthWords(min: number, max: number | undefined): string {
  const count = (length: number) => `${length} character${length === 1 ? "" : "s"}`;
  if (max === undefined) return `of at least ${count(min)}`;
  if (min === 0) return `of at most ${count(max)}`;
  return min === max ? `of ${count(max)}` : `of ${min} to ${count(max)}`;
}
