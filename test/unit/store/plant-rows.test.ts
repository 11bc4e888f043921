// The versions of plants.

import { expect, test } from "bun:test";
import { createdVersion, nextVersion } from "../../../src/store/shared/plant-rows.ts";

test("a plant that is created twice in a millisecond gets another version each time it is edited, also by an earlier clock", () => {
  const created = createdVersion(1_000);
  const versions = Array.from({ length: 50 }, () => nextVersion(created, 999));
  expect(new Set(versions).size).toBeGreaterThan(45);
  for (const version of versions) expect(version).toBeGreaterThan(created);
});
