// JSON whose numbers keep their exact values, which numbers of JavaScript lose past 2^53.

import { type JsonNumber, parseJsonNumber } from "./json-number.ts";

// https://github.com/tc39/proposal-json-parse-with-source
declare global {
  interface JSON {
    /** A value that JSON.stringify writes as this text. */
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/**
 * Parses JSON. An integer that is not safe becomes a bigint, and another number that a double does
 * not hold an object that toExactJson writes: equal values are deeply equal, also 1.0 and 1e0.
 */
export function parseExactJson(text: string): unknown {
  const reviver = (_: string, value: unknown, ...[context]: { source?: string }[]) =>
    typeof value === "number" && !Number.isSafeInteger(value) ? exactNumber(value, context?.source) : value;
  return JSON.parse(text, reviver);
}

/** Digits of a bigint: a longer one would take long to make. */
const integerDigitsMax = 400;

function exactNumber(value: number, source = String(value)): unknown {
  const { sign, digits, exponent } = parseJsonNumber(source) as JsonNumber;
  if (exponent >= 0 && digits.length + exponent <= integerDigitsMax) {
    const integer = BigInt(sign + digits + "0".repeat(exponent));
    return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
  }
  const held = parseJsonNumber(String(value));
  if (held?.digits === digits && held.exponent === exponent) return value;
  return JSON.rawJSON(`${sign}${digits}e${exponent}`);
}

/** Writes JSON; a bigint becomes a number with all of its digits. */
export function toExactJson(value: unknown, space = 0): string {
  const replacer = (_: string, field: unknown) =>
    typeof field === "bigint" ? JSON.rawJSON(String(field)) : field;
  return JSON.stringify(value, replacer, space);
}
