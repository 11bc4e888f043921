// Parses int64 from decimal text: a JavaScript number loses digits past 2^53.

import { parseJsonNumber } from "./exact-json.ts";
import { sentDigits } from "./json-values.ts";

export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;
const int64DigitsMax = 19;

/** Digits that are an int64 whatever they are, for which BigInt is enough. */
const shortInteger = /^-?\d{1,18}$/;

/**
 * The int64 that a JSON number (RFC 8259, section 6) denotes, or undefined if its value is not an
 * integer or not in the range of int64. The exact value of the text counts: `1.0` and `1e3` are
 * integers, as in JSON Schema, and `1.0000000000000000001` is not.
 */
export function parseJsonInt64(text: string): bigint | undefined {
  if (shortInteger.test(text)) return BigInt(text);
  const parsed = parseJsonNumber(text);
  if (parsed === undefined) return undefined;
  const { sign, digits, exponent } = parsed;
  if (exponent < 0 || digits.length + exponent > int64DigitsMax) return undefined;
  const value = BigInt(sign + digits + "0".repeat(exponent));
  return value >= int64Min && value <= int64Max ? value : undefined;
}

/** The int64 that an exact number of JSON is. */
export function toInt64(number: unknown): bigint | undefined {
  if (Number.isSafeInteger(number)) return BigInt(number as number);
  const integer = typeof number === "bigint" ? number : parseJsonInt64(sentDigits(number));
  return integer !== undefined && integer >= int64Min && integer <= int64Max ? integer : undefined;
}

/** Parses an int64 in plain decimal digits, such as an argument; undefined if it is not one. */
export function parseInt64(text: string): bigint | undefined {
  if (shortInteger.test(text)) return BigInt(text);
  return /^-?\d+$/.test(text) ? parseJsonInt64(text) : undefined;
}
