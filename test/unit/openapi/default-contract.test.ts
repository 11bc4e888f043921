// The contract of the Plant Store, which a start takes from plant-store.json.

import { expect, test } from "bun:test";
import { compiler } from "../../../src/openapi/compiler.ts";
import { plantStoreSource } from "../../../src/openapi/default-contract.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";

/** A value with its functions as their texts: those of two types are never the same. */
function withTexts(value: unknown): unknown {
  if (typeof value === "function") return String(value);
  if (Array.isArray(value)) return value.map(withTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withTexts(member)]));
}

test.each([false, true])("is what the compiler reads, lenient %p", async (isLenient) => {
  const fresh = await readContract(plantStoreSource, { isLenient });
  const kept = await compiler(undefined, { isLenient });
  expect(withTexts(kept)).toEqual(withTexts(fresh));
  const [collection] = kept.collections;
  expect([collection?.titleField, collection?.groupField]).toEqual([...(collection?.fields ?? [])]);
  expect(collection?.titleField).toBe(collection?.fields[0]);
});
