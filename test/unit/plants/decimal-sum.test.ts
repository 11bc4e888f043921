// The sum of a decimal field in an operation of one's own.

import { expect, test } from "bun:test";
import { decimalSum } from "../../../src/index.ts";

test.each([
  [[], "0"],
  [[null], "0"],
  [["0.1", "0.2"], "0.3"],
  [["-0.05", null, "0.1"], "0.05"],
  [["-1", "0.5"], "-0.5"],
  [["-0.01"], "-0.01"],
  [["1.50", "-1.5"], "0.00"],
  [["1e-2", "1e3"], "1000.01"],
  [["99999999999999999999999999999999999999", "0.01"], "99999999999999999999999999999999999999.01"],
] as const)("%j is %s", (values, expected) => {
  expect(decimalSum(values)).toBe(expected);
});

test("a value of another column is no decimal", () => {
  expect(() => decimalSum(["1,5"])).toThrow(TypeError);
});
