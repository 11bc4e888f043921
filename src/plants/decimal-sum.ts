// Sums decimals as columns have them. SQLite's sum() takes the texts for doubles: 0.1 and 0.2 gave
// 0.30000000000000004.

import { scaledDecimal, scaledText } from "../json/decimal.ts";
import { parseJsonNumber } from "../json/exact-json.ts";

/**
 * The exact sum of the values of a decimal field, as the text of a number of JSON. Null, for a
 * resource without the field, counts as 0.
 */
export function decimalSum(values: Iterable<string | null>): string {
  let sum = 0n;
  let fractionDigits = 0;
  for (const value of values) {
    if (value === null) continue;
    const scaled = scaledDecimal(value);
    if (scaled === undefined) throw new TypeError(`${value} is not a decimal as a column has it`);
    sum += scaled;
    fractionDigits = Math.max(fractionDigits, parseJsonNumber(value)?.fractionDigits ?? 0);
  }
  return scaledText(sum, fractionDigits);
}
