// The store in memory: copies of its plants, its limit, and searches while its plants are replaced.

import { expect, test } from "bun:test";
import type { NewPlant } from "../../../../../src/core/contract/plant.ts";
import { toEntries } from "../../../../../src/core/store/plant-store.ts";
import { MemoryStore } from "../../../../../src/core/store/sqlite/memory-store.ts";
import { unexpected } from "../../../../support/stored-plants.ts";

const int64Max = 2n ** 63n - 1n;

function openMemoryStore(): MemoryStore & AsyncDisposable {
  const store = new MemoryStore(unexpected);
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

function all(store: MemoryStore): NewPlant[] {
  return [...store.plants({})].flat();
}

test("a copy has the plants of its time and what an extra has stored, and both come back with it", async () => {
  await using store = openMemoryStore();
  await store.create(toEntries([{ id: int64Max, name: "Monstera", tag: "tropical" }]));
  const sql = await store.openSql("write");
  await sql.query("CREATE TABLE extra (id INTEGER)");
  const copy = store.copyPlants();
  await store.create(toEntries([{ id: -int64Max, name: "Ficus" }]));
  await sql.query("DROP TABLE extra");

  for (let round = 0; round < 2; round++) {
    store.replacePlants(copy);
    expect(all(store)).toEqual([{ id: int64Max, name: "Monstera", tag: "tropical" }]);
    expect(await sql.query("SELECT * FROM extra")).toEqual([]);
    // The copy itself does not change.
    expect(
      await store.create(
        toEntries([
          { id: int64Max, name: "Ficus" },
          { id: 1n, name: "Ficus" },
        ]),
      ),
    ).toEqual(["conflict", "created"]);
    expect(store.count()).toBe(2);
  }
});

test("over its limit a create is unavailable, with the reason, and what is stored stays", async () => {
  const reasons: string[] = [];
  const store = new MemoryStore((reason) => reasons.push(reason), 2 ** 20);
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
  store.replacePlants(store.copyPlants());
  expect(await store.create(toEntries([large(99n)]))).toEqual(["unavailable"]);
  await store.close();
});
