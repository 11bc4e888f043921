// Edits in one transaction, one of whose plants another program has locked.

import { afterAll, expect, spyOn, test } from "bun:test";
import { Client } from "pg";
import { openOperationStore } from "../../../../src/store/operation-store.ts";
import { PlantLocked } from "../../../../src/store/plant-store.ts";
import { findPlants, type StoredPlant } from "../../../../src/store/shared/plant-rows.ts";
import { plantStore, values } from "../../../support/contracts.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { changeOf, openedStore, storedPlants, storePlants } from "../../../support/stored-plants.ts";

const database = await sharedPostgres();
afterAll(() => database[Symbol.asyncDispose]());

test("of a group of edits only that of the locked plant fails", async () => {
  const { address } = await database.newDatabase();
  const ids = [1n, 2n, 3n, 4n];
  await storePlants(
    address,
    ids.map((id) => ({ id, name: "Ficus" })),
  );
  await using resources = new AsyncDisposableStack();
  const store = resources.use(await openedStore(address));
  const single = resources.use(await store.openSql());
  const { edit } = (await openOperationStore(store, single, resources))("caller");
  const other = new Client({ connectionString: address });
  await other.connect();
  await other.query("BEGIN; SELECT FROM plants WHERE id = 3 FOR UPDATE");

  const groups = spyOn(store, "edit");
  const ficuses = await findPlants(plantStore, single, ids);
  const record = { table: "plants", contractNumber: undefined, run: "r", seq: 1, editor: "{}", editedAt: 1 };
  // The first one goes alone, and the others are the next group.
  const results = await Promise.allSettled(
    ids.map((id) =>
      edit([{ ...record, edit: changeOf(ficuses.get(id) as StoredPlant, values({ name: "Rosa" })) }]),
    ),
  );
  await other.end();
  expect(groups.mock.calls.map(([edits]) => edits.length)).toEqual([1, 3, 1, 1, 1]);
  const outcomes = results.map((result) => (result.status === "fulfilled" ? result.value : [result.reason]));
  expect(outcomes.flat()).toEqual(["done", "done", expect.any(PlantLocked), "done"]);
  const names = (await storedPlants(address)).map(({ values: [name] }) => String(name));
  expect(names).toEqual(["Rosa", "Rosa", "Ficus", "Rosa"]);
});
