// A search of the console that takes longer than its time limit, and the reads of an export.

import { expect, spyOn, test } from "bun:test";
import { exportPlants } from "../../../src/console/calls/plant-calls.ts";
import { parseFilter, searchPlants } from "../../../src/console/reads/plant-search.ts";
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

test("the words of a search have at most a hundred characters together", () => {
  const wordsOf = (...words: string[]) =>
    parseFilter(plantStore, new URLSearchParams(words.map((word): [string, string] => ["word", word]))).words;
  const words = ["🌱".repeat(50), "x".repeat(50)];
  expect(wordsOf(...words)).toEqual(words);
  expect(() => wordsOf(...words, "y")).toThrow("at most 100 characters");
});

test("an export reads a mebibyte of plants at a time", async () => {
  const plants = Array.from({ length: 5 }, (_, id) => ({ id: BigInt(id), name: "x".repeat(700_000) }));
  await using context = await MemoryContext.of(plants);
  const sql = await context.reader();
  const read: number[] = [];
  const query: typeof sql.query = async (...call) => {
    const rows = await sql.query(...call);
    if (rows.some((row) => "name" in row)) read.push(rows.length);
    return rows as never;
  };
  const counting = { ...context, reader: async () => ({ ...sql, query }) };
  const response = await exportPlants(counting, new URLSearchParams({ format: "ndjson" }));
  expect((await response.text()).split("\n")).toHaveLength(6);
  expect(read).toEqual([2, 2, 1]);
});
