// Keeps decimal numbers as exact texts.

import { parseJsonNumber } from "./exact-json.ts";

/** Digits of a decimal number in all, as PostgreSQL's numeric has them. */
const decimalDigitsMax = 38;

/**
 * A number of JSON in plain digits, without an exponent; undefined if it has more digits than fit.
 *
 * @param fractionDigits the digits after the point; undefined for those that it has.
 */
export function decimalText(number: string, fractionDigits?: number): string | undefined {
  const parsed = parseJsonNumber(number);
  if (parsed === undefined) return undefined;
  const { sign, digits, exponent } = parsed;
  const kept = fractionDigits ?? parsed.fractionDigits;
  const zeros = digits === "0" ? 0 : exponent + kept;
  if (kept > decimalDigitsMax || zeros < 0 || digits.length + zeros > decimalDigitsMax) return undefined;
  return sign + withPoint(digits + "0".repeat(zeros), kept);
}

function withPoint(digits: string, fractionDigits: number): string {
  const padded = digits.padStart(fractionDigits + 1, "0");
  const point = padded.length - fractionDigits;
  return fractionDigits === 0 ? padded : `${padded.slice(0, point)}.${padded.slice(point)}`;
}

/**
 * A number of JSON that is at most as large as a double, times ten to the power of 38, for exact
 * comparisons; undefined if digits are lost.
 */
export function scaledDecimal(number: string): bigint | undefined {
  const parsed = parseJsonNumber(number);
  if (parsed === undefined || parsed.exponent < -decimalDigitsMax) return undefined;
  return BigInt(parsed.sign + parsed.digits + "0".repeat(parsed.exponent + decimalDigitsMax));
}

/** The digits after the point of a multipleOf such as 0.01; undefined for another. */
export function fractionDigits(multipleOf: unknown): number | undefined {
  const isUnit = typeof multipleOf === "number" && /^(?:1|0\.0*1|1e-\d+)$/.test(String(multipleOf));
  return isUnit ? Math.round(-Math.log10(multipleOf)) : undefined;
}
