// Parsing of int64, compared with arithmetic on fractions.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseInt64, parseJsonInt64 } from "../../../src/json/int64.ts";

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;

/** The value of the text, by multiplying and dividing integers. */
function byArithmetic(sign: string, whole: string, fraction: string, exponent: number): bigint | undefined {
  const shift = exponent - fraction.length;
  const digits = BigInt(sign + whole + fraction);
  const scale = 10n ** BigInt(Math.abs(shift));
  if (shift < 0 && digits % scale !== 0n) return undefined;
  const value = shift < 0 ? digits / scale : digits * scale;
  return value >= min && value <= max ? value : undefined;
}

test("agrees with exact arithmetic on any JSON number", () => {
  const digits = (maxLength: number) =>
    fc.string({ unit: fc.constantFrom(..."0000123456789"), minLength: 1, maxLength });
  const anyNumber = fc.tuple(
    fc.constantFrom("", "-"),
    digits(22),
    fc.option(digits(22), { nil: "" }),
    fc.integer({ min: -30, max: 30 }),
  );
  fc.assert(
    fc.property(anyNumber, fc.constantFrom("e", "E", "e+"), ([sign, whole, fraction, exponent], e) => {
      const mark = exponent < 0 ? e.charAt(0) : e;
      const text = `${sign}${whole}${fraction && `.${fraction}`}${exponent === 0 ? "" : `${mark}${exponent}`}`;
      expect(parseJsonInt64(text)).toBe(byArithmetic(sign, whole, fraction, exponent));
    }),
    { numRuns: 5_000 },
  );
});

test("keeps every int64 to the last digit", () => {
  fc.assert(
    fc.property(fc.bigInt({ min, max }), (id) => {
      expect(parseJsonInt64(String(id))).toBe(id);
      expect(parseInt64(String(id))).toBe(id);
    }),
  );
});

test.each([
  ["9223372036854775807", max],
  ["9223372036854775808", undefined],
  ["-9223372036854775808", min],
  ["-9223372036854775809", undefined],
  ["-0", 0n],
  ["0e999999999999999999", 0n],
  ["1e999999999999999999", undefined],
  ["1e-999999999999999999", undefined],
  [`1${"0".repeat(100_000)}e-100000`, 1n],
  [`0.${"0".repeat(100_000)}1e100001`, 1n],
  ["", undefined],
  ["x", undefined],
  ["0x10", undefined],
])("%p is %p", (text, value) => {
  expect(parseJsonInt64(text)).toBe(value);
});

test("parseInt64 accepts plain digits only", () => {
  for (const text of ["1.0", "1e3", " 1", "", "+1", "9223372036854775808"])
    expect(parseInt64(text)).toBeUndefined();
  expect(parseInt64("-7")).toBe(-7n);
});
