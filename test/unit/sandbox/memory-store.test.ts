// The store in memory at its limit.

import { expect, test } from "bun:test";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { plant, plantStore } from "../../support/contracts.ts";

test("over its limit a create is unavailable, with the reason, and what is stored stays, also in a copy", async () => {
  const reasons: string[] = [];
  await using store = new MemoryStore(plantStore, (reason) => reasons.push(reason), 2 ** 20);
  const create = async (id: bigint) =>
    (await store.create(toEntries(plantStore, [plant({ id, name: "x".repeat(100_000) })])))[0];
  let created = 0n;
  while ((await create(created)) === "created") created++;
  expect(created).toBeGreaterThan(5n);
  expect(new Set(reasons)).toEqual(new Set(["database or disk is full (SQLITE_FULL)"]));
  store.replace(store.copy());
  expect(await create(0n)).toBe("unchanged");
  expect(await create(99n)).toBe("unavailable");
  expect(store.count(plantStore)).toBe(Number(created));
});
