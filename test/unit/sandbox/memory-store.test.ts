// The store in memory: its limit, and what a copy replaces.

import { expect, spyOn, test } from "bun:test";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { Database } from "../../../src/store/sqlite/driver.ts";
import { plant, plantStore } from "../../support/contracts.ts";
import { nextTurn } from "../../support/eventually.ts";

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

test("a copy replaces all but the keys of creators, and closes the database that it replaces", async () => {
  await using store = new MemoryStore(plantStore, () => undefined);
  const empty = store.copy();
  await store.tokens.creatorKey("another");
  const key = await store.tokens.creatorKey("ci");
  await store.create(toEntries(plantStore, [plant({ id: 1n, name: "a" })]));
  // Another test may have replaced one.
  await nextTurn();
  using close = spyOn(Database.prototype, "close");
  store.replace(empty);
  await nextTurn();
  expect(close).toHaveBeenCalledTimes(1);
  expect([store.count(plantStore), await store.tokens.creatorKey("ci")]).toEqual([0, key]);
});
