// A header field line: its name and value, and none for what is not a field.

import { expect, test } from "bun:test";
import { parseFieldLine } from "../../../../src/core/http/http-field.ts";

test.each<[line: string, field: [string, string] | undefined]>([
  ["Host:x", ["Host", "x"]],
  ["Empty:", ["Empty", ""]],
  ["A-b: \t c: d\t ", ["A-b", "c: d"]],
  ["A: \u00a0x\v", ["A", "\u00a0x\v"]],
  ["A : x", undefined],
  [" folded: x", undefined],
  [": x", undefined],
  ["no colon", undefined],
])("%p", (line, field) => {
  expect(parseFieldLine(line)).toEqual(field);
});

test("millions of blanks in a value and after it are parsed, which takes hours unless the time is linear", () => {
  const blanks = " ".repeat(4_000_000);
  expect(parseFieldLine(`A:${blanks}a${blanks}b${blanks}`)?.[1]).toBe(`a${blanks}b`);
});
