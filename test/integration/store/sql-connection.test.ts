// Reading by SQL on every engine: the same statements, parameters and results.

import { describe, expect, test } from "bun:test";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";
import { type PlantStore, toEntries } from "../../../src/store/plant-store.ts";
import { SqlTimeout, WrongStatement } from "../../../src/store/sql-connection.ts";
import { plantStore, toPlants } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { openedStore, unexpected } from "../../support/stored-plants.ts";

const noPlace = async () => ({ database: "", [Symbol.asyncDispose]: async () => undefined });
const stores = [
  {
    name: "memory",
    createTestStore: noPlace,
    open: async (): Promise<PlantStore> => new MemoryStore(plantStore, unexpected),
  },
  ...engines.map(({ name, createTestStore }) => ({
    name,
    createTestStore,
    open: (database: string) => openedStore(database),
  })),
];

const highest = 2n ** 63n - 1n;

for (const { name, createTestStore, open } of stores) {
  describe(name, () => {
    test("statements have numbered parameters and exact integers", async () => {
      await using place = await createTestStore();
      await using store = await open(place.database);
      const plants = [
        { id: highest, name: "Ficus" },
        { id: -5n, name: "Aloe", tag: "$1 '?" },
      ];
      await store.create(toEntries(plantStore, toPlants(plants)));
      await using sql = await store.openSql();
      const rows = await sql.query(
        "SELECT id, name, tag FROM plants WHERE id > $2 OR name = $1 OR name = $1 ORDER BY id LIMIT $3",
        ["Aloe", highest - 1n, 10],
      );
      const counted = await sql.query("SELECT count(*) AS plants, max(tag) AS tag FROM plants");
      expect(rows).toEqual([
        { id: -5n, name: "Aloe", tag: "$1 '?" },
        { id: highest, name: "Ficus", tag: null },
      ]);
      expect(counted).toEqual([{ plants: 2n, tag: "$1 '?" }]);
    });

    test("a statement that writes is its author's mistake, and writes nothing", async () => {
      await using place = await createTestStore();
      await using store = await open(place.database);
      await store.create(toEntries(plantStore, toPlants([{ id: 1n, name: "Ficus" }])));
      await using sql = await store.openSql();
      const error = await sql.query("DELETE FROM plants").catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(WrongStatement);
      expect(await sql.query("SELECT id FROM plants")).toEqual([{ id: 1n }]);
    });

    test("a statement ends at its time limit, and the connection remains usable", async () => {
      await using place = await createTestStore();
      await using store = await open(place.database);
      await using sql = await store.openSql();
      const endless = `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE ${sql.inTime})
                         SELECT count(*) FROM number`;
      const error = await sql.query(endless, [], 200).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SqlTimeout);
      expect(await sql.query("SELECT 1 AS one WHERE 1 = $1", [1])).toEqual([{ one: 1n }]);
    });
  });
}
