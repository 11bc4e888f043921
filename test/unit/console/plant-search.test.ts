// A search of the console that takes longer than its time limit.

import { expect, spyOn, test } from "bun:test";
import { searchPlants } from "../../../src/console/reads/plant-search.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { MemoryContext } from "../../support/console.ts";
import { plantStore } from "../../support/contracts.ts";

test.each([true, false])("it continues where it ended: descending %p", async (isDescending) => {
  const plants = Array.from({ length: 3_000 }, (_, id) => ({
    id: BigInt(id),
    name: id % 500 === 0 || id === 2_999 ? "Köcherbaum" : "Ficus",
  }));
  await using context = await MemoryContext.of(plants);
  const sql = await context.reader();
  // Every statement takes some tens of milliseconds.
  let now = 0;
  using _ = spyOn(performance, "now").mockImplementation(() => {
    now += 40;
    return now;
  });
  const ids: PlantId[] = [];
  let [parts, compared] = [0, 0];
  let after: PlantId | undefined;
  do {
    const found = await searchPlants(
      plantStore,
      sql,
      { words: ["öcher"] },
      { after, isDescending, plantsMax: 50 },
    );
    ids.push(...found.ids);
    parts++;
    compared += found.compared;
    after = found.next;
  } while (after !== undefined);
  const matching = plants.filter(({ name }) => name !== "Ficus").map(({ id }) => id);
  expect(ids).toEqual(isDescending ? matching.toReversed() : matching);
  expect(parts).toBeGreaterThan(2);
  expect(compared).toBe(3_000);
});
