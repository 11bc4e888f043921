// Reads and writes JSON whose numbers keep their exact values, which JavaScript loses past 2^53.

import { endOfString } from "./json-scanner.ts";
import { ExactNumber, SentNumber } from "./json-values.ts";

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
  const parsed: unknown = JSON.parse(text);
  return maybeInexact.test(text) ? parseNumbers(text, parsed, maybeInexact, exactNumber) : parsed;
}

/** Numbers in an object or array that JavaScript may write otherwise, and some texts. */
const rewrittenNumbers = /[[:,\s](?:-0(?![.\d])|-?\d(?:[\d.]{15}|[\d.]*[eE]|\d*\.\d*0(?!\d)))/;
const rewrittenNumber = /^-0$|[eE]|\.\d*0$|[\d.]{16}/;

/** Whether JSON.parse may change a number of some JSON, or its form. */
export function mayRewrite(text: string): boolean {
  return rewrittenNumbers.test(text);
}

/**
 * Parses JSON whose numbers are to be kept as they are: some are a SentNumber. Throws a RangeError for
 * one that is nested too deeply.
 *
 * @param parsed its value of JSON.parse, if that is known.
 */
export function parseSentJson(text: string, parsed: unknown = JSON.parse(text)): unknown {
  return mayRewrite(text) ? parseNumbers(text, parsed, rewrittenNumber, sentNumber) : parsed;
}

/** The value of a number that is to be kept as it is. */
export function sentNumber(source: string): number | bigint | ExactNumber | SentNumber {
  const value = exactNumber(source);
  return String(value) === source ? value : new SentNumber(source, value);
}

/**
 * Parses the numbers that match a pattern by another function. A reviver is called for every value, and
 * takes far longer.
 *
 * @param parsed its value of JSON.parse.
 */
function parseNumbers(
  text: string,
  parsed: unknown,
  pattern: RegExp,
  toValue: (source: string) => unknown,
): unknown {
  const { marked, numbers } = markNumbers(text, pattern, toValue);
  return numbers.length === 0 ? parsed : restoreNumbers(JSON.parse(marked), numbers);
}

/** Begins a text that stands for a number while JSON is parsed. No client knows it. */
const parsedMark = `\u{f0000}${crypto.getRandomValues(new Uint32Array(2)).join("-")}:`;

// UTF-16 code units.
const [quote, minus, zero, nine] = [0x22, 0x2d, 0x30, 0x39];

/** Whether a character is one of a number of JSON. */
function isOfNumber(code: number): boolean {
  return (code >= minus && code <= nine) || code === 0x2b || code === 0x65 || code === 0x45;
}

/** Replaces the numbers of a valid JSON text that match a pattern by texts that are marked. */
function markNumbers(
  text: string,
  pattern: RegExp,
  toValue: (source: string) => unknown,
): { readonly marked: string; readonly numbers: readonly unknown[] } {
  const numbers: unknown[] = [];
  const indexes = new Map<string, number>();
  let marked = "";
  let copied = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at) - 1;
      continue;
    }
    if (code !== minus && !(code >= zero && code <= nine)) continue;
    const start = at;
    while (isOfNumber(text.charCodeAt(at))) at++;
    const source = text.slice(start, at--);
    if (!pattern.test(source)) continue;
    let index = indexes.get(source);
    if (index === undefined) {
      index = numbers.push(toValue(source)) - 1;
      indexes.set(source, index);
    }
    marked += `${text.slice(copied, start)}"${parsedMark}${index}"`;
    copied = at + 1;
  }
  return { marked: marked + text.slice(copied), numbers };
}

/** Puts the numbers in the places of the texts that stand for them. */
function restoreNumbers(value: unknown, numbers: readonly unknown[]): unknown {
  if (typeof value === "string")
    return value.startsWith(parsedMark) ? numbers[Number(value.slice(parsedMark.length))] : value;
  if (typeof value !== "object" || value === null) return value;
  const parent = value as Record<string | number, unknown>;
  const restore = (name: string | number) => {
    const member = parent[name];
    const restored = restoreNumbers(member, numbers);
    if (restored !== member) parent[name] = restored;
  };
  if (Array.isArray(value)) for (let index = 0; index < value.length; index++) restore(index);
  else for (const name of Object.keys(value)) restore(name);
  return value;
}

/** Digits of a bigint, and zeros that end an integer: longer ones take long to make. */
const integerDigitsMax = 40;

const plainInteger = /^-?\d{1,39}$/;

/** The value of a number of JSON. */
export function exactNumber(source: string): number | bigint | ExactNumber {
  const value = Number(source);
  // Past 2^53 the digits of an integer may be those of another one.
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    if (plainInteger.test(source)) return BigInt(source);
  } else if (String(value) === source) return value;
  const { sign, digits, exponent } = parseJsonNumber(source) as JsonNumber;
  if (exponent >= 0 && exponent <= integerDigitsMax) {
    if (Number.isSafeInteger(value)) return value;
    const text = sign + digits + "0".repeat(exponent);
    return text.length <= integerDigitsMax ? BigInt(text) : new ExactNumber(text);
  }
  const held = parseJsonNumber(String(value));
  if (held?.digits === digits && held.exponent === exponent) return value;
  return new ExactNumber(Number.isSafeInteger(exponent) ? `${sign}${digits}e${exponent}` : source);
}

/** Marks a number that is written as a text first. */
const writtenMark = "\u{f0000}number:";
const markedNumbers = new RegExp(`"${writtenMark}([^"]*)"`, "g");

/** Writes JSON with all digits of its numbers. */
export function toExactJson(value: unknown, space = 0): string {
  // The conformance kit may run on Node.js before version 21, which cannot write digits as they are.
  const raw = (text: string) => ("rawJSON" in JSON ? JSON.rawJSON(text) : writtenMark + text);
  const replacer = (_: string, field: unknown) => {
    if (typeof field === "bigint") return raw(String(field));
    if (field instanceof SentNumber) return raw(field.source);
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
