// Columns of fields: a store that lacks one gets it when it is opened, on every engine.

import { describe, expect, test } from "bun:test";
import { addColumnStatements } from "../../../../src/core/store/field-columns.ts";
import { openServerStore } from "../../../../src/core/store/open-store.ts";
import { toEntries } from "../../../../src/core/store/plant-store.ts";
import { engines } from "../../../support/engines.ts";
import { settled } from "../../../support/settled.ts";
import { openedStore, runSql } from "../../../support/stored-plants.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    test("a field without a column gets one, and plants that were stored do not have it", async () => {
      await using place = await engine.createTestStore();
      {
        await using store = await openedStore(place.database);
        await store.create(toEntries([{ id: 1n, name: "Monstera", tag: "tropical" }]));
      }
      await runSql(place.database, "ALTER TABLE plants DROP COLUMN tag");
      const events = {
        onUnavailable: () => undefined,
        onFailed: () => undefined,
      };
      const opening = settled(openServerStore(place.database, "existing", events));
      expect(await opening).toThrow("plantstore migrate");
      await using store = await openServerStore(place.database, "create", events);
      expect(
        await store.create(
          toEntries([
            { id: 1n, name: "Monstera" },
            { id: 2n, name: "Ficus", tag: "tree" },
          ]),
        ),
      ).toEqual(["unchanged", "created"]);
    });
  });
}

test("a required field needs a value only where there are plants", () => {
  expect(addColumnStatements(["name"], "sqlite", { hasPlants: false })).toEqual([
    "ALTER TABLE plants ADD COLUMN name TEXT",
  ]);
  expect(() => addColumnStatements(["name"], "postgres", { hasPlants: true })).toThrow(
    "the field name is required, but the store has plants without it: give it a value for them",
  );
});
