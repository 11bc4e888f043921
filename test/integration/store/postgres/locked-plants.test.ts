// Edits of many plants at once, some of which another program has locked, and one that is refused.

import { afterAll, expect, test } from "bun:test";
import { Client } from "pg";
import type { PlantId } from "../../../../src/contract/plant-id.ts";
import { openOperationStore } from "../../../../src/store/operation-store.ts";
import { PlantLocked } from "../../../../src/store/plant-store.ts";
import { findPlants, type StoredPlant } from "../../../../src/store/shared/plant-rows.ts";
import { plantStore, values } from "../../../support/contracts.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { changeOf, openedStore, storedPlants, storePlants } from "../../../support/stored-plants.ts";

const database = await sharedPostgres();
afterAll(() => database[Symbol.asyncDispose]());

test("of many edits at once only those of locked and refused plants fail, and the others do not wait for them", async () => {
  const { address } = await database.newDatabase();
  const ids = Array.from({ length: 37 }, (_, id) => BigInt(id));
  await storePlants(
    address,
    ids.map((id) => ({ id, name: "Ficus" })),
  );
  await using resources = new AsyncDisposableStack();
  const store = resources.use(await openedStore(address));
  const single = resources.use(await store.openSql());
  const operations = (await openOperationStore(store, single, resources))("caller");
  const other = new Client({ connectionString: address });
  await other.connect();
  await other.query("ALTER TABLE plants ADD CONSTRAINT refused CHECK (id <> 35 OR name <> 'Rosa')");
  await other.query("BEGIN; SELECT FROM plants WHERE id < 12 FOR UPDATE");
  // A creation of another program, which is not there yet.
  await other.query("INSERT INTO plants (id, name, created_at) VALUES (99, 'Hoya', 1)");

  const ficuses = await findPlants(plantStore, single, ids);
  const record = { table: "plants", contractNumber: undefined, run: "r", seq: 1, editor: "{}", editedAt: 1 };
  const settled: PlantId[] = [];
  const rename = (id: PlantId) =>
    operations
      .edit([{ ...record, edit: changeOf(ficuses.get(id) as StoredPlant, values({ name: "Rosa" })) }])
      .catch((error) => [error])
      .finally(() => settled.push(id));
  const creation = { createdAt: 1, creator: null };
  const create = (id: PlantId) =>
    operations
      .edit([
        {
          ...record,
          edit: { id, expected: undefined, replacement: values({ name: "Rosa" }), creation, version: 5n },
        },
      ])
      .catch((error) => [error]);
  const created = [create(99n), create(100n)];
  const outcomes = ids.slice(0, -1).map(rename);
  const [free, locked] = [outcomes.slice(12, 35), outcomes.slice(0, 12)];
  expect((await Promise.all(free)).flat()).toEqual(Array(23).fill("done"));
  expect(String(await outcomes[35])).toContain("the database refuses it");
  // It comes while the locked ones are tried again.
  expect(await rename(36n)).toEqual(["done"]);
  const failed = Array(12).fill(expect.any(PlantLocked));
  expect((await Promise.all(locked)).flat()).toEqual(failed);
  expect(settled.slice(0, 25).toSorted()).toEqual(ids.slice(12).toSorted());
  expect((await Promise.all(created)).flat()).toEqual([expect.any(PlantLocked), "done"]);
  await other.end();
  const names = (await storedPlants(address)).map(({ values: [name] }) => String(name));
  expect(names).toEqual([...Array(12).fill("Ficus"), ...Array(23).fill("Rosa"), "Ficus", "Rosa", "Rosa"]);
});
