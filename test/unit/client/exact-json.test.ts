// JSON with exact integers, in both directions.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseExact, stringifyExact } from "../../../packages/client/src/exact-json.ts";
import { anyString } from "../../support/random.ts";

test.each([
  ["9007199254740991", 9007199254740991],
  ["9007199254740992", 9007199254740992n],
  ["-9007199254740993", -9007199254740993n],
  ["9223372036854775807", 9223372036854775807n],
  ["-0", -0],
  ["1.5", 1.5],
  ["1.0000000000000000001", 1],
  ["1e300", 1e300],
  ['"9007199254740993"', "9007199254740993"],
  ['{"id":1,"id":2}', { id: 2 }],
])("%s is %p", (text, value) => {
  expect(parseExact(text)).toEqual(value);
});

test.each(["", "01234567890123456789", "[9007199254740993", "{9007199254740993:1}", "1 2"])(
  "%p is a SyntaxError",
  (text) => expect(() => parseExact(text)).toThrow(SyntaxError),
);

test("an object has a member of any name", () => {
  const text = '{"__proto__":9007199254740993,"constructor":1}';
  expect(stringifyExact(parseExact(text))).toBe(text);
});

test("any JSON that is written is parsed as it was, and as JSON.parse does but for long integers", () => {
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, false),
      fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(canonical),
      fc.maxSafeInteger(),
      fc.double({ min: -(2 ** 50), max: 2 ** 50, noNaN: true }).map((number) => number + 0),
      anyString,
      fc.array(tie("json")),
      fc.dictionary(anyString, tie("json")),
    ),
  }));
  fc.assert(
    fc.property(json, (value) => {
      const text = stringifyExact(value);
      expect(parseExact(text)).toEqual(value);
      expect(rounded(parseExact(text))).toEqual(JSON.parse(text));
    }),
  );
});

function rounded(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rounded(member)]));
}

/** The form in which an integer is parsed. */
function canonical(integer: bigint): bigint | number {
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

test.each([2 ** 53, -(2 ** 53), Number.NaN, Number.NEGATIVE_INFINITY])(
  "%p is not written, as it may have lost digits",
  (id) => expect(() => stringifyExact({ plant: [{ id }] })).toThrow(/^"id" is the number .* use a bigint/),
);

test("what JSON.stringify leaves out is left out", () => {
  expect(stringifyExact({ id: 2n ** 63n, tag: undefined, at: new Date(0) })).toBe(
    '{"id":9223372036854775808,"at":"1970-01-01T00:00:00.000Z"}',
  );
});
