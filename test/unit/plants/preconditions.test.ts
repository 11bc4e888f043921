// The conditions of requests, which name entity tags.

import { expect, test } from "bun:test";
import { checkPreconditions, excludes } from "../../../src/plants/preconditions.ts";

test.each([
  ["If-Match", '"a"', '"a"', true],
  ["If-Match", '"b" , "a"', '"a"', true],
  ["If-Match", "*", '"a"', true],
  ["If-Match", "*", undefined, false],
  ["If-Match", '"b"', '"a"', false],
  // Compared strongly.
  ["If-Match", 'W/"a"', '"a"', false],
  ["If-None-Match", '"a"', '"a"', false],
  ["If-None-Match", 'W/"a"', '"a"', false],
  ["If-None-Match", "*", '"a"', false],
  ["If-None-Match", "*", undefined, true],
  ["If-None-Match", '"b"', '"a"', true],
])("%s: %s of what has the tag %p holds: %p", (name, value, current, holds) => {
  const headers = new Headers({ [name]: value });
  const failed = checkPreconditions(headers, current);
  expect(failed === undefined).toBe(holds);
  if (!holds) expect(failed).toMatchObject({ code: "preconditionFailed" });
  expect(excludes(headers, current)).toBe(name === "If-None-Match" && !holds);
});
