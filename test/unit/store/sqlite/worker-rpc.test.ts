// Batches as strings: whatever a plant holds comes back as it was.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { NewPlant } from "../../../../src/contract/plant.ts";
import {
  decodeBatch,
  decodeOutcomes,
  encodeBatch,
  encodeOutcomes,
} from "../../../../src/store/sqlite/worker-rpc.ts";
import { anyNewPlant } from "../../../support/any-new-plant.ts";

test("a batch comes back as it was, absent and empty tags apart", () => {
  fc.assert(
    fc.property(fc.array(anyNewPlant, { maxLength: 20 }), (batch: NewPlant[]) => {
      expect(decodeBatch(encodeBatch(batch))).toEqual(batch);
    }),
  );
});

test("outcomes come back as they were", () => {
  expect(decodeOutcomes(encodeOutcomes(["created", "conflict", "unchanged", "unavailable"]))).toEqual([
    "created",
    "conflict",
    "unchanged",
    "unavailable",
  ]);
});
