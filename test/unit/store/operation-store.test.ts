// Changes of plants by operations: those of one plant take turns.

import { expect, spyOn, test } from "bun:test";
import { compiler } from "../../../src/openapi/compiler.ts";
import { openOperationStore } from "../../../src/store/operation-store.ts";
import { SqliteStore } from "../../../src/store/sqlite/store.ts";
import { plantStore } from "../../support/contracts.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { unexpected } from "../../support/stored-plants.ts";

test("changes of one plant run one after the other, those of others meanwhile, and no turn is kept", async () => {
  using folder = new TemporaryFolder();
  await using store = await SqliteStore.open(folder.file("plants.db"), "create", unexpected, { compiler });
  await using resources = new AsyncDisposableStack();
  const storeOf = await openOperationStore(store, resources.use(await store.openSql()), resources);
  using set = spyOn(Map.prototype, "set");
  let running = 0;
  const other = Promise.withResolvers<void>();
  const changes = Array.from({ length: 100 }, (_, call) =>
    storeOf(`caller ${call % 3}`).change(plantStore, 1n, async () => {
      expect(++running).toBe(1);
      await other.promise;
      running--;
    }),
  );
  await storeOf("caller").change(plantStore, 2n, async () => other.resolve());
  await Promise.all(changes);
  const turns = set.mock.contexts[set.mock.calls.findIndex(([key]) => key === "plants 1")];
  expect((turns as Map<unknown, unknown>).size).toBe(0);
});
