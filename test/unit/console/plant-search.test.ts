// A search of the console that takes longer than its time limit.

import { expect, spyOn, test } from "bun:test";
import { listPlants, type Search } from "../../../src/console/plant-list.ts";
import { MemoryContext } from "../../support/console.ts";

test.each([true, false])("it continues where it ended: descending %p", async (isDescending) => {
  const plants = Array.from({ length: 3_000 }, (_, id) => ({
    id: BigInt(id),
    name: id % 500 === 0 || id === 2_999 ? "Köcherbaum" : "Ficus",
  }));
  await using context = await MemoryContext.of(plants);
  const sql = await context.reader();
  // Every plant that is compared takes some milliseconds.
  let now = 0;
  using _ = spyOn(performance, "now").mockImplementation(() => ++now);
  const search = { words: ["öcher"], group: undefined, order: "id", isDescending } as const;
  const ids: bigint[] = [];
  const found: number[] = [];
  const searchedTo: (bigint | undefined)[] = [];
  let cursor: Search["cursor"];
  do {
    const page = await listPlants(sql, { ...search, cursor, isBackward: false, plantsMax: 50 });
    ids.push(...page.plants.map(({ id }) => id));
    found.push(page.plants.length);
    searchedTo.push(page.searchedTo);
    cursor = page.next;
  } while (cursor !== undefined);
  const matching = plants.filter(({ name }) => name !== "Ficus").map(({ id }) => id);
  expect(ids).toEqual(isDescending ? matching.toReversed() : matching);
  expect(searchedTo.length).toBeGreaterThan(2);
  expect(searchedTo.slice(0, -1)).not.toContain(undefined);
  expect(searchedTo.at(-1)).toBeUndefined();
  expect(found.at(-1)).toBeGreaterThan(0);
});
