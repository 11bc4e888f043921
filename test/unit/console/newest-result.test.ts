// The order of overlapping calls of the console's page.

import { expect, test } from "bun:test";
import { NewestResult } from "../../../src/console/page/newest-result.ts";

test("a call that ends after one that started later is not the newest", () => {
  const results = new NewestResult();
  const [first, second, third, fourth] = [results.start(), results.start(), results.start(), results.start()];
  expect(first()).toBe(true);
  expect(third()).toBe(true);
  expect(second()).toBe(false);
  expect(fourth()).toBe(true);
});
