// Gets that arrive while a group is being read form the next group.

import { expect, test } from "bun:test";
import type { PlantId } from "../../../../src/core/contract/plant-id.ts";
import { GroupRead } from "../../../../src/core/store/group-read.ts";
import type { SqlConnection, SqlValue } from "../../../../src/core/store/sql-connection.ts";
import { TurnTimeout } from "../../../../src/core/store/turns.ts";
import { plantStore } from "../../../support/contracts.ts";
import { settled } from "../../../support/settled.ts";

/** A store whose queries end when the test says so, with a row for each positive id. */
class HeldStore implements Pick<SqlConnection, "query"> {
  readonly queries: { readonly ids: readonly SqlValue[]; readonly end: (error?: Error) => void }[] = [];

  query<Row>(_: string, ids: readonly SqlValue[] = []): Promise<Row[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    const rows = [...new Set(ids)].filter((id) => (id as bigint) > 0n).map((id) => ({ id }) as Row);
    const end = (error?: Error) => (error === undefined ? resolve(rows) : reject(error));
    this.queries.push({ ids, end });
    return promise;
  }

  /** Waits for a query. */
  async nth(index: number) {
    for (;;) {
      const query = this.queries[index];
      if (query !== undefined) return query;
      await Promise.resolve();
    }
  }
}

test("a lone get is read at once, and those that arrive meanwhile are the next group", async () => {
  const store = new HeldStore();
  const reads = new GroupRead(store, plantStore, 1_000);
  const get = (id: PlantId) => reads.get("caller", id);
  const first = get(1n);
  expect(store.queries.map(({ ids }) => ids)).toEqual([[1n]]);
  const others = [2n, -3n, 4n, 2n].map(get);
  store.queries[0]?.end();
  expect(await first).toMatchObject({ id: 1n });
  const second = await store.nth(1);
  // Three ids, filled up to four.
  expect(second.ids).toEqual([2n, -3n, 4n, 2n]);
  second.end();
  expect(await Promise.all(others)).toEqual([{ id: 2n }, undefined, { id: 4n }, { id: 2n }] as never[]);
});

test("a caller with many gets leaves each group room for others, and a failure ends one group", async () => {
  const store = new HeldStore();
  const reads = new GroupRead(store, plantStore, 1_000);
  const many = Array.from({ length: 201 }, (_, index) => reads.get("many", BigInt(index + 1)));
  const other = reads.get("other", 1_000n);
  const results = Promise.allSettled([other, ...many]);
  store.queries[0]?.end();
  const second = await store.nth(1);
  expect(second.ids).toContain(1_000n);
  second.end(new Error("gone"));
  for (const group of [2, 3, 4]) (await store.nth(group)).end();
  const statuses = (await results).map(({ status }) => status);
  expect(statuses[0]).toBe("rejected");
  expect(statuses.filter((status) => status === "rejected")).toHaveLength(64);
});

test("a get that has waited too long is not read", async () => {
  const store = new HeldStore();
  const reads = new GroupRead(store, plantStore, -1);
  expect(await settled(reads.get("caller", 1n))).toThrow(TurnTimeout);
  expect(store.queries).toEqual([]);
});
