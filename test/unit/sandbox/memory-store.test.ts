// The store in memory at its limit.

import { expect, test } from "bun:test";
import { toEntries } from "../../../src/core/store/plant-store.ts";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";

test("over its limit a create is unavailable, with the reason, and what is stored stays", async () => {
  const reasons: string[] = [];
  await using store = new MemoryStore((reason) => reasons.push(reason), 2 ** 20);
  const empty = store.copyPlants();
  const large = (id: bigint) => ({ id, name: "x".repeat(100_000) });
  const ids = Array.from({ length: 20 }, (_, index) => BigInt(index));
  const outcomes = (await Promise.all(ids.map((id) => store.create(toEntries([large(id)]))))).flat();
  const created = outcomes.filter((outcome) => outcome === "created").length;
  expect(created).toBeGreaterThan(5);
  expect(outcomes).toEqual(ids.map((_, index) => (index < created ? "created" : "unavailable")));
  expect(new Set(reasons)).toEqual(new Set(["database or disk is full (SQLITE_FULL)"]));
  expect(store.count()).toBe(created);
  expect(await store.create(toEntries([large(0n), { id: 0n, name: "other" }]))).toEqual([
    "unchanged",
    "conflict",
  ]);
  // A copy has the limit as well.
  const full = store.copyPlants();
  store.replacePlants(full);
  expect(await store.create(toEntries([large(99n)]))).toEqual(["unavailable"]);

  // It has no room for tokens that are newer: nothing is replaced.
  store.replacePlants(empty);
  for (let index = 0; index < 1_000; index++)
    await store.tokens.add({ hash: `hash ${index}`, name: `token ${index}`, createdAt: 0, expiresAt: null });
  expect(() => store.replacePlants(full)).toThrow("full");
  expect(await store.tokens.list()).toHaveLength(1_000);
  expect(store.count()).toBe(0);
});
