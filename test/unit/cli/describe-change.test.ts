// The line about how a plant changed.

import { expect, test } from "bun:test";
import { describeChange } from "../../../src/cli/commands/describe-change.ts";
import { plantStore, values } from "../../support/contracts.ts";

test("a value is cut only if it has more characters than are shown", () => {
  const of = (name: string) => describeChange(plantStore, values({ name: "Rosa" }), values({ name }));
  // The quotes count.
  expect(of("🌱".repeat(58))).toBe(`name "Rosa" → "${"🌱".repeat(58)}"`);
  expect(of("🌱".repeat(59))).toBe(`name "Rosa" → "${"🌱".repeat(59)}…`);
  expect(of("x".repeat(1_000_000))).toBe(`name "Rosa" → "${"x".repeat(59)}…`);
});
