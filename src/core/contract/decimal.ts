// Decimal numbers as exact texts.

/** Digits of a decimal number in all, as PostgreSQL's numeric has them. */
export const decimalDigitsMax = 38;

/**
 * A number (RFC 8259, section 6) in plain digits, without an exponent; undefined if it has more
 * digits than fit.
 *
 * @param fractionDigits the digits after the point; undefined for those that it has.
 */
export function decimalText(number: string, fractionDigits?: number): string | undefined {
  const [, sign, whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(number) ?? [];
  if (sign === undefined) return undefined;
  const kept = fractionDigits ?? Math.max(0, fraction.length - Number(exponent));
  if (kept > decimalDigitsMax) return undefined;
  // The digits of the value times ten to the power of the digits that are kept.
  const shift = Number(exponent) - fraction.length + kept;
  const digits = (whole + fraction).replace(/^0+/, "");
  const cut = shift < 0 ? digits.slice(shift) : "";
  if (/[1-9]/.test(cut)) return undefined;
  const scaled = shift < 0 ? digits.slice(0, shift) : digits === "" ? "" : digits + "0".repeat(shift);
  if (scaled.length > decimalDigitsMax && fractionDigits !== decimalDigitsMax) return undefined;
  const padded = scaled.padStart(kept + 1, "0");
  const at = padded.length - kept;
  const plain = kept === 0 ? padded : `${padded.slice(0, at)}.${padded.slice(at)}`;
  return /[1-9]/.test(plain) ? sign + plain : plain;
}

/** A decimal text times ten to the power of 38, as an integer: exact comparisons. */
export function scaledDecimal(number: string): bigint | undefined {
  const text = decimalText(number, decimalDigitsMax);
  return text === undefined ? undefined : BigInt(text.replace(".", ""));
}
