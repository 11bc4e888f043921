// Changes of plants by operations: those of one plant take turns, and others share groups.

import { expect, spyOn, test } from "bun:test";
import { compiler } from "../../../src/openapi/compiler.ts";
import { openOperationStore } from "../../../src/store/operation-store.ts";
import type { PlantStore } from "../../../src/store/plant-store.ts";
import type { ReadConnection } from "../../../src/store/shared/page.ts";
import type { RecordedEdit } from "../../../src/store/shared/plant-edit.ts";
import type { RecordedTransaction } from "../../../src/store/shared/transaction.ts";
import { SqliteStore } from "../../../src/store/sqlite/store.ts";
import { plantStore } from "../../support/contracts.ts";
import { nextTurn } from "../../support/eventually.ts";
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

test("a group has at most 64 edits, and as many transactions are under way as the engine allows", async () => {
  const groups: number[] = [];
  let [underWay, most] = [0, 0];
  const store = {
    contract: plantStore,
    openSql: async () => ({ callsMax: 3, [Symbol.asyncDispose]: async () => undefined }),
    async edit(edits: readonly RecordedEdit[]) {
      groups.push(edits.length);
      return edits.map(() => "edited");
    },
    async transact() {
      most = Math.max(most, ++underWay);
      await nextTurn();
      underWay--;
      return "edited";
    },
  } as unknown as PlantStore;
  await using resources = new AsyncDisposableStack();
  const storeOf = await openOperationStore(store, {} as ReadConnection, resources);
  const edit = { table: plantStore.table, edit: { id: 1n } } as unknown as RecordedEdit;
  await storeOf("caller").edit(Array(150).fill(edit));
  expect(groups).toEqual([32, 32, 64, 22]);
  const transaction = {} as RecordedTransaction;
  await Promise.all(Array.from({ length: 20 }, () => storeOf("caller").transact(transaction)));
  expect(most).toBe(3);
});
