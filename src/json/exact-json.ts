// Reads and writes JSON whose numbers keep their exact values, which JavaScript loses past 2^53.

import { ExactNumber } from "./json-values.ts";

// https://github.com/tc39/proposal-json-parse-with-source
declare global {
  interface JSON {
    /** A value that JSON.stringify writes as this text. */
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/**
 * Numbers that a double may not hold, and some texts: those of 15 digits are the shortest decimals of
 * their doubles.
 */
const maybeInexact = /\d{16}|[\d.]{17}|\d[eE][+-]?\d/;

/**
 * Parses JSON. Equal values are deeply equal, also 1.0 and 1e0. Throws a RangeError for one that is
 * nested too deeply.
 */
export function parseExactJson(text: string): unknown {
  // A reviver takes six times as long, and recurses.
  if (!maybeInexact.test(text)) return JSON.parse(text);
  const reviver = (_: string, value: unknown, ...[context]: { source?: string }[]) =>
    typeof value === "number" ? exactNumber(context?.source ?? String(value)) : value;
  return JSON.parse(text, reviver);
}

/** Digits of a bigint: a longer one would take long to make. */
const integerDigitsMax = 400;

/** The value of a number of JSON. */
export function exactNumber(source: string): number | bigint | ExactNumber {
  const value = Number(source);
  // Past 2^53 the digits of an integer may be those of another one.
  if (String(value) === source && !(Math.abs(value) > Number.MAX_SAFE_INTEGER)) return value;
  const { sign, digits, exponent } = parseJsonNumber(source) as JsonNumber;
  if (exponent >= 0 && digits.length + exponent <= integerDigitsMax) {
    const integer = BigInt(sign + digits + "0".repeat(exponent));
    return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
  }
  const held = parseJsonNumber(String(value));
  if (held?.digits === digits && held.exponent === exponent) return value;
  return new ExactNumber(Number.isSafeInteger(exponent) ? `${sign}${digits}e${exponent}` : source);
}

/** Marks a number that is written as a text first. */
const numberMark = "\u{f0000}number:";
const markedNumbers = new RegExp(`"${numberMark}([^"]*)"`, "g");

/** Writes JSON with all digits of its numbers. */
export function toExactJson(value: unknown, space = 0): string {
  // The conformance kit may run on Node.js before version 21, which cannot write digits as they are.
  const raw = (text: string) => ("rawJSON" in JSON ? JSON.rawJSON(text) : numberMark + text);
  const replacer = (_: string, field: unknown) => {
    if (typeof field === "bigint") return raw(String(field));
    return field instanceof ExactNumber ? raw(field.text) : field;
  };
  const json = JSON.stringify(value, replacer, space);
  return "rawJSON" in JSON ? json : json.replaceAll(markedNumbers, "$1");
}

/** A number: its sign and digits, times ten to the power of the exponent. */
export interface JsonNumber {
  /** "-", or "" also for zero. */
  readonly sign: string;
  /** Without zeros at either end; "0" for zero. */
  readonly digits: string;
  readonly exponent: number;
  /** The number of digits after the point, as the number was sent. */
  readonly fractionDigits: number;
}

// Accepts leading zeros: JSON.parse has rejected them in JSON.
const pattern = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Parses a number (RFC 8259, section 6) in linear time; undefined if the text is not one. */
export function parseJsonNumber(text: string): JsonNumber | undefined {
  const [, sign, whole = "", fraction = "", power = "0"] = pattern.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const all = whole + fraction;
  let end = all.length;
  while (end > 0 && all[end - 1] === "0") end--;
  const fractionDigits = Math.max(0, fraction.length - Number(power));
  if (end === 0) return { sign: "", digits: "0", exponent: 0, fractionDigits };
  let start = 0;
  while (all[start] === "0") start++;
  const exponent = Number(power) - fraction.length + all.length - end;
  return { sign, digits: all.slice(start, end), exponent, fractionDigits };
}
