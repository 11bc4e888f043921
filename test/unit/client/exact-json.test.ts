// JSON with long integers, in both directions, against lossless-json.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { parse as parseLossless, stringify } from "lossless-json";
import { parseExactJson, toExactJson } from "../../../packages/client/src/bigint-json.ts";
import { anyString } from "../../support/random.ts";

test.each([
  ["9007199254740992", 9007199254740992n],
  ["-9007199254740993", -9007199254740993n],
  ["9223372036854775807", 9223372036854775807n],
  ["1.0000000000000000001", 1],
  ["1234567890123456789e2", Number("1234567890123456789e2")],
  ['"9007199254740993"', "9007199254740993"],
  ['"\\"9007199254740993"', '"9007199254740993'],
  ['"\\\\",9007199254740993', undefined],
  ['["\\\\",9007199254740993]', ["\\", 9007199254740993n]],
  ['{"9007199254740993":-9223372036854775808}', { "9007199254740993": -9223372036854775808n }],
])("%s: integers are exact, and what is no JSON is rejected", (text, expected) => {
  if (expected === undefined) expect(() => parseExactJson(text)).toThrow(SyntaxError);
  else expect(parseExactJson(text)).toEqual(expected);
});

/** Any JSON, its integers as bigint, in which lossless-json returns them. */
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, false),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
    anyString,
    fc.string({ unit: fc.constantFrom('"', "\\", "9007199254740993", ":", ",", "-") }),
    fc.array(tie("json")),
    fc.dictionary(
      fc.string().filter((name) => name !== "__proto__"),
      tie("json"),
    ),
  ),
}));

test("any JSON is written with the exact digits, and parsed with them", () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = stringify(value) ?? "";
      expect(toExactJson(value)).toBe(text);
      expect(integersToBigInt(parseExactJson(text))).toEqual(parseLossless(text, null, BigInt));
    }),
  );
});

test("an undefined member is left out, and a long string is parsed in linear time", () => {
  expect(toExactJson({ tag: undefined, id: 1 })).toBe('{"id":1}');
  const text = JSON.stringify({ body: '\\"1234567890123456789'.repeat(100_000) });
  expect(parseExactJson(text)).toEqual(JSON.parse(text));
});

function integersToBigInt(value: unknown): unknown {
  if (typeof value === "number") return BigInt(value);
  if (Array.isArray(value)) return value.map(integersToBigInt);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, integersToBigInt(member)]));
}
