// Numbers of JSON as they are written: a JavaScript number loses digits past 2^53.

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
