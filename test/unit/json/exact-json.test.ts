// JSON whose numbers keep their exact values.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { exactNumber, parseExactJson, toExactJson } from "../../../src/json/exact-json.ts";
import { ExactNumber } from "../../../src/json/json-values.ts";

const number = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constant("0"), fc.stringMatching(/^[1-9][0-9]{0,25}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^\.[0-9]{1,25}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?[0-9]{1,4}$/)),
  )
  .map((parts) => parts.join(""));

const json = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    number,
    fc.constantFrom("null", "true", '"1e9"', '"\\"1e400,"', '"\\\\"', '"__proto__"'),
    fc.string().map((text) => JSON.stringify(text)),
    fc.array(tie("json")).map((items) => `[${items.join(" ,")}]`),
    fc
      .dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "1e5", '"')), tie("json"))
      .map((all) => `{${Object.entries(all).map(([name, value]) => `${JSON.stringify(name)}: ${value}`)}}`),
  ),
})).json;

test("each number has its exact value, and all else is as JSON.parse has it", () => {
  fc.assert(
    fc.property(json, (text) => {
      const reviver = (_: string, value: unknown, ...[context]: { source?: string }[]) =>
        typeof value === "number" ? exactNumber(context?.source ?? "") : value;
      expect(parseExactJson(text)).toEqual(JSON.parse(text, reviver));
    }),
  );
});

test("equal numbers are equal values, and are written as JSON", () => {
  for (const [one, other] of [
    ["1.0", "1e0"],
    ["1e39", `1${"0".repeat(39)}`],
    ["1e40", `10${"0".repeat(39)}`],
    ["1e41", `1${"0".repeat(41)}`],
    ["1e399", `1${"0".repeat(399)}`],
    ["-12.50e-400", "-125e-401"],
    [`${"7".repeat(50)}.0`, "7".repeat(50)],
    ["5e-324", "0.5e-323"],
    ["0e400", "0"],
  ] as const) {
    expect(parseExactJson(one)).toEqual(parseExactJson(other));
    expect(parseExactJson(toExactJson(parseExactJson(one)))).toEqual(parseExactJson(other));
  }
  expect(toExactJson(parseExactJson(`["1e9",1e9,${"7".repeat(50)}]`))).toBe(
    `["1e9",1000000000,${"7".repeat(50)}]`,
  );
  expect(parseExactJson("[1e400]")).toEqual([new ExactNumber("1e400")]);
});

test.each(["{1e9:2}", "[1e9", "1.2.3e4", '"1e9', "1e9 2", "[01e5]", "[1e]", "-", ""])(
  "%s is no JSON",
  (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  },
);

test("digits are kept where JSON cannot be written with them, as on Node.js 20", () => {
  const { rawJSON } = JSON;
  try {
    Reflect.deleteProperty(JSON, "rawJSON");
    const value = { a: [2n ** 63n, exactNumber("12345678901234567.89"), 'x"1', 1.5] };
    expect(toExactJson(value)).toBe('{"a":[9223372036854775808,1234567890123456789e-2,"x\\"1",1.5]}');
  } finally {
    Object.assign(JSON, { rawJSON });
  }
});
