// A search of the console that takes longer than its time limit.

import { expect, spyOn, test } from "bun:test";
import { listPlants, type Search } from "../../../src/console/plant-list.ts";
import { toEntries } from "../../../src/core/store/plant-store.ts";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";

test.each([true, false])(
  "it continues where it ended, and ends with the last plant (descending: %p)",
  async (isDescending) => {
    await using store = new MemoryStore(() => undefined);
    const plants = Array.from({ length: 3_000 }, (_, id) => ({
      id: BigInt(id),
      name: id % 500 === 0 ? "Hoya" : "Ficus",
    }));
    await store.create(toEntries(plants));
    await using sql = await store.openSql("read");
    // Every plant that is compared takes a millisecond.
    let now = 0;
    using _ = spyOn(performance, "now").mockImplementation(() => now++);
    const search = { words: ["hoya"], tag: undefined, order: "id", isDescending } as const;
    const ids: bigint[] = [];
    const searchedTo: (bigint | undefined)[] = [];
    let cursor: Search["cursor"];
    do {
      const page = await listPlants(sql, { ...search, cursor, isBackward: false, plantsMax: 50 });
      ids.push(...page.plants.map(({ id }) => id));
      searchedTo.push(page.searchedTo);
      cursor = page.next;
    } while (cursor !== undefined);
    const found = plants.filter(({ name }) => name === "Hoya").map(({ id }) => id);
    expect(ids).toEqual(isDescending ? found.toReversed() : found);
    expect(searchedTo.length).toBeGreaterThan(2);
    expect(searchedTo.slice(0, -1)).not.toContain(undefined);
    expect(searchedTo.at(-1)).toBeUndefined();
  },
);
