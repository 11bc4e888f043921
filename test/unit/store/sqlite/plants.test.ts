// The outcomes of creates whose ids the server has chosen, on a database in memory.

import { expect, test } from "bun:test";
import { newMigration } from "../../../../src/store/migration/migration.ts";
import type { NewEntry } from "../../../../src/store/plant-store.ts";
import { Database } from "../../../../src/store/sqlite/driver.ts";
import { migrate } from "../../../../src/store/sqlite/migrations.ts";
import { SqlitePlants } from "../../../../src/store/sqlite/plants.ts";
import { Transactions } from "../../../../src/store/sqlite/transactions.ts";
import { readSingle } from "../../../support/contracts.ts";
import { contractWithIds, idSchemas } from "../../../support/id-contracts.ts";
import { unexpected } from "../../../support/stored-plants.ts";

test("a chosen id that is taken is never that of an equal plant, and a key leads to its own", async () => {
  const contract = await readSingle(contractWithIds(idSchemas.int64));
  using database = new Database(":memory:", { strict: true, safeIntegers: true });
  migrate(database, "a store in memory", newMigration("sqlite", contract));
  const [collection = contract] = contract.collections;
  const plants = new SqlitePlants(new Transactions(database), [collection], unexpected);
  const create = (id: bigint, name: string, key: string | null) => {
    const entry: NewEntry = { collection, plant: { id, values: [name] }, creator: null, key };
    return plants.create([entry], 0)[0];
  };
  const [one, other] = ["1", "2"].map((digit) => digit.repeat(22)) as [string, string];
  expect(create(1n, "a", null)).toBe("created");
  expect(create(1n, "a", null)).toBe("taken");
  expect(create(2n, "a", one)).toBe("created");
  expect(create(2n, "a", other)).toBe("taken");
  // A retry has another id.
  expect([create(3n, "a", one), create(4n, "b", one)]).toEqual(["unchanged", "conflict"]);
  expect(create(1n, "a", one)).toBe("unchanged");
  expect(plants.get(collection, 3n)).toBeUndefined();
});
