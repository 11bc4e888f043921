// When and by whom plants were created, on every engine.

import { describe, expect, test } from "bun:test";
import { creatorNames } from "../../../src/plants/stored-plants.ts";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { findPlants, type StoredPlant } from "../../../src/store/shared/plant-rows.ts";
import { plant, plantStore, values } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { changeOf, editOne, openedStore, storedPlants, unexpected } from "../../support/stored-plants.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    test("an export has the time and the creator of each plant, of single creates and of an import", async () => {
      await using place = await engine.createTestStore();
      const startedAt = Date.now();
      await using server = await openedStore(place.database);
      const gardener = await server.tokens.creatorKey("gardener ü");
      const other = await server.tokens.creatorKey("x".repeat(255));
      const [first, second, unknown] = [
        { collection: plantStore, plant: plant({ id: 1n, name: "Ficus" }), creator: gardener },
        { collection: plantStore, plant: plant({ id: 2n, name: "Aloe", tag: "" }), creator: other },
        { collection: plantStore, plant: plant({ id: 3n, name: "Monstera" }), creator: null },
      ];
      expect(await server.create([first, second, unknown])).toEqual(["created", "created", "created"]);
      // Who sends it again has not created it.
      expect(await server.create([{ ...first, creator: other }])).toEqual(["unchanged"]);
      const imported = Array.from({ length: 2_500 }, (_, index) =>
        plant({ id: BigInt(index + 10), name: "Rosa" }),
      );
      await server.create(toEntries(plantStore, imported, gardener));
      await using sql = await server.openSql();
      const ficus = (await findPlants(plantStore, sql, [1n])).get(1n) as StoredPlant;
      await editOne(server, changeOf(ficus, values({ name: "Ficus", tag: "indoor" })));
      const plants = await storedPlants(place.database);
      expect(plants.length).toBe(2_503);
      const names = await creatorNames(sql, plants);
      const creators = plants
        .slice(0, 4)
        .map(({ id, creator }) => [id, creator === null ? null : names.get(creator)]);
      expect(creators).toEqual([
        [1n, "gardener ü"],
        [2n, "x".repeat(255)],
        [3n, null],
        [10n, "gardener ü"],
      ]);
      for (const { createdAt } of plants) {
        expect(createdAt).toBeGreaterThanOrEqual(startedAt);
        expect(createdAt).toBeLessThanOrEqual(Date.now());
      }
    });

    test("a batch has the time that comes with it, however it is committed", async () => {
      await using place = await engine.createTestStore();
      await using server = await openedStore(place.database);
      // Too long for the memory that the threads of SQLite share.
      const long = [plant({ id: 1n, name: "x".repeat(2 ** 21) })];
      const many = Array.from({ length: 100 }, (_, id) => plant({ id: BigInt(100 + id), name: "Rosa" }));
      const few = [
        [plant({ id: 2n, name: "Ficus" })],
        [plant({ id: 3n, name: "Ficus" }), plant({ id: 2n, name: "Ficus" })],
      ];
      await Promise.all(
        [long, many].map((plants, index) => server.create(toEntries(plantStore, plants), 1_000 + index)),
      );
      for (const plants of few)
        await server.create(toEntries(plantStore, plants), 1_000 + plants.length * 10);
      const stored = await storedPlants(place.database);
      const times = new Map(stored.map(({ id, createdAt }) => [id, createdAt]));
      expect([1n, 2n, 3n].map((id) => times.get(id))).toEqual([1_000, 1_010, 1_020]);
      expect(new Set(many.map(({ id }) => times.get(id)))).toEqual(new Set([1_001]));
    });

    test("the tokens of a name have one creator", async () => {
      await using place = await engine.createTestStore();
      await using server = await openedStore(place.database);
      const token = { name: "ci", createdAt: 1, expiresAt: null };
      await server.tokens.add({ ...token, hash: "a" });
      const rotation = { hash: "b", name: "ci", rotatedAt: 2, expiresAt: null, overlapEndsAt: 3 };
      await server.tokens.rotate(rotation);
      await server.tokens.add({ ...token, hash: "c", name: "other", createdAt: 9 });
      const [first, second, other] = (await server.tokens.list()).map(({ creator }) => creator);
      expect(first).toBe(await server.tokens.creatorKey("ci"));
      expect(second).toBe(first as number);
      expect(other).not.toBe(first as number);
    });
  });
}

test("a store in memory knows the creators also after its plants were replaced", async () => {
  await using store = new MemoryStore(plantStore, unexpected);
  const creator = await store.tokens.creatorKey("gardener");
  const empty = store.copy();
  for (const id of [1n, 2n]) {
    store.replace(empty);
    await store.create([{ collection: plantStore, plant: plant({ id, name: "Ficus" }), creator }]);
    const sql = await store.openSql();
    const [found] = (await findPlants(plantStore, sql, [id])).values();
    expect(found).toMatchObject({ id, creator });
    expect((await creatorNames(sql, [found as StoredPlant])).get(creator)).toBe("gardener");
  }
});
