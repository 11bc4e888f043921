// Changes of plants by operations: those of one plant take turns, and others share groups.

import { expect, spyOn, test } from "bun:test";
import { compiler } from "../../../src/openapi/compiler.ts";
import { TurnTimeout } from "../../../src/store/groups.ts";
import { openOperationStore } from "../../../src/store/operation-store.ts";
import { PlantLocked, type PlantStore } from "../../../src/store/plant-store.ts";
import type { ReadConnection } from "../../../src/store/shared/page.ts";
import type { RecordedEdit } from "../../../src/store/shared/plant-edit.ts";
import type { RecordedTransaction } from "../../../src/store/shared/transaction.ts";
import { SqliteStore } from "../../../src/store/sqlite/store.ts";
import { plantStore } from "../../support/contracts.ts";
import { eventually, nextTurn } from "../../support/eventually.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";
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
  await storeOf("caller").change(plantStore, 2n, async () => {
    // The turns of the first plant could come meanwhile.
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    other.resolve();
  });
  await Promise.all(changes);
  const turns = set.mock.contexts[set.mock.calls.findIndex(([key]) => key === "plants 1")];
  expect((turns as Map<unknown, unknown>).size).toBe(0);
});

test("a change runs after one that has failed, which only its caller is told", async () => {
  using folder = new TemporaryFolder();
  await using store = await SqliteStore.open(folder.file("plants.db"), "create", unexpected, { compiler });
  await using resources = new AsyncDisposableStack();
  const storeOf = await openOperationStore(store, resources.use(await store.openSql()), resources);
  const failing = storeOf("caller").change(plantStore, 1n, async () => {
    await nextTurn();
    throw new Error("broken");
  });
  const next = storeOf("caller").change(plantStore, 1n, async () => "changed");
  expect(await settled(failing)).toThrow("broken");
  expect(await next).toBe("changed");
});

test("a change that has waited ten seconds for others of its plant does not run", async () => {
  using folder = new TemporaryFolder();
  await using store = await SqliteStore.open(folder.file("plants.db"), "create", unexpected, { compiler });
  await using resources = new AsyncDisposableStack();
  const storeOf = await openOperationStore(store, resources.use(await store.openSql()), resources);
  using clock = spyOn(performance, "now");
  for (const [ms, expected] of [
    [10_000, "changed"],
    [10_001, expect.any(TurnTimeout)],
  ]) {
    clock.mockReturnValue(0);
    const ending = Promise.withResolvers<void>();
    const first = storeOf("caller").change(plantStore, 1n, () => ending.promise);
    const next = storeOf("caller").change(plantStore, 1n, async () => "changed");
    clock.mockReturnValue(ms);
    ending.resolve();
    await first;
    expect(await next.catch((error) => error)).toEqual(expected);
  }
});

test("an edit of a locked plant is tried four times, with pauses, and others do not wait for it", async () => {
  using sleep = spyOn(Bun, "sleep");
  const unlocked = Promise.withResolvers<void>();
  const tries = new Map([1n, 2n].map((id) => [id, 0]));
  const store = {
    contract: plantStore,
    openSql: async () => ({ callsMax: 1, [Symbol.asyncDispose]: async () => undefined }),
    editEach: (edits: readonly RecordedEdit[]) =>
      Promise.all(
        edits.map(async ({ edit: { id } }) => {
          const own = (tries.get(id as bigint) ?? 0) + 1;
          tries.set(id as bigint, own);
          if (id === 2n) return "done";
          // As long as the database waits for the lock.
          if (own === 2) await unlocked.promise;
          return new PlantLocked("locked");
        }),
      ),
  } as unknown as PlantStore;
  await using resources = new AsyncDisposableStack();
  const storeOf = await openOperationStore(store, {} as ReadConnection, resources);
  const edit = (id: bigint) =>
    storeOf("caller").edit([{ table: plantStore.table, edit: { id } } as unknown as RecordedEdit]);
  const locked = settled(edit(1n));
  await eventually("it is tried again", () => tries.get(1n) === 2);
  expect(await edit(2n)).toEqual(["done"]);
  unlocked.resolve();
  expect(await locked).toThrow(PlantLocked);
  expect([...tries.values()]).toEqual([4, 1]);
  expect(sleep.mock.calls.filter(([ms]) => ms === 300)).toHaveLength(3);
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
  expect(groups).toEqual([32, 64, 54]);
  const transaction = {} as RecordedTransaction;
  await Promise.all(Array.from({ length: 20 }, () => storeOf("caller").transact(transaction)));
  expect(most).toBe(3);
});

test("a group has at most 32 reads, and two groups are under way", async () => {
  using folder = new TemporaryFolder();
  await using store = await SqliteStore.open(folder.file("plants.db"), "create", unexpected, { compiler });
  await using resources = new AsyncDisposableStack();
  const sql = resources.use(await store.openSql());
  const groups: number[] = [];
  let [underWay, most] = [0, 0];
  const counted = async <Found>(count: number, reading: Promise<Found>) => {
    groups.push(count);
    most = Math.max(most, ++underWay);
    return reading.finally(() => underWay--);
  };
  const single: Pick<ReadConnection, "get" | "find"> = {
    get: (table, ids) => counted(ids.length, sql.get(table, ids)),
    find: (query) => counted(query.ids.length, sql.find(query)),
  };
  const storeOf = await openOperationStore(store, single as ReadConnection, resources);
  const ids = Array.from({ length: 150 }, (_, id) => BigInt(id));
  const nothing = Array(150).fill(undefined);
  expect(await Promise.all(ids.map((id) => storeOf("caller").get(plantStore, id)))).toEqual(nothing);
  expect(await Promise.all(ids.map((id) => storeOf("caller").find(plantStore, id, "")))).toEqual(nothing);
  expect(groups).toEqual([32, 32, 32, 32, 22, 32, 32, 32, 32, 22]);
  expect(most).toBe(2);
});
