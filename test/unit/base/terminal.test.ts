// Text for people, on a terminal.

import { expect, test } from "bun:test";
import { paint, printable } from "../../../src/base/terminal.ts";

test("what would move the cursor, or colour or reorder a line, is escaped", () => {
  expect(printable("a\u001b[31m\n\u202e\u2066\u2028é🌿")).toBe("a\\u001b[31m\\u000a\\u202e\\u2066\\u2028é🌿");
});

test("a colour ends with its text", () => {
  expect(paint("a", "red", true)).toBe("\u001b[31ma\u001b[0m");
  expect(paint("a", "red", false)).toBe("a");
});
