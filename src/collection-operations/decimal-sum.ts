// Sums decimals as columns have them. SQLite's sum() takes the texts for doubles: 0.1 and 0.2 gave
// 0.30000000000000004.

/**
 * The exact sum of the values of a decimal field, as the text of a number of JSON. Null, for a
 * resource without the field, counts as 0.
 */
export function decimalSum(values: Iterable<string | null>): string {
  let sum = 0n;
  let fractionDigits = 0;
  for (const value of values) {
    const [, integer, fraction = ""] = /^(-?\d+)(?:\.(\d+))?$/.exec(value ?? "0") ?? [];
    if (integer === undefined) throw new TypeError(`${value} is not a decimal as a column has it`);
    if (fraction.length > fractionDigits) {
      sum *= 10n ** BigInt(fraction.length - fractionDigits);
      fractionDigits = fraction.length;
    }
    sum += BigInt(integer + fraction) * 10n ** BigInt(fractionDigits - fraction.length);
  }
  const digits = String(sum)
    .replace("-", "")
    .padStart(fractionDigits + 1, "0");
  const point = digits.length - fractionDigits;
  const text = fractionDigits === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  return sum < 0n ? `-${text}` : text;
}
