// Pages of plants that change between the statements of a page.

import { expect, test } from "bun:test";
import { newMigration } from "../../../../src/store/migration/migration.ts";
import { toEntries } from "../../../../src/store/plant-store.ts";
import { type Page, type PageQuery, pageWork } from "../../../../src/store/shared/page.ts";
import { Database } from "../../../../src/store/sqlite/driver.ts";
import { migrate } from "../../../../src/store/sqlite/migrations.ts";
import { SqlitePlants } from "../../../../src/store/sqlite/plants.ts";
import { sqliteTraits } from "../../../../src/store/sqlite/sql-reader.ts";
import { runStatement } from "../../../../src/store/sqlite/sql-work.ts";
import { Transactions } from "../../../../src/store/sqlite/transactions.ts";
import { plant, plantStore } from "../../../support/contracts.ts";
import { unexpected } from "../../../support/stored-plants.ts";

/** Reads a page of some plants, nine by default, and runs a statement before its second one. */
function readPage(change: string, query: Partial<PageQuery>, count = 9, ms = 1_000): Page {
  using database = new Database(":memory:", { strict: true, safeIntegers: true });
  migrate(database, "a store in memory", newMigration("sqlite", plantStore));
  database.function("in_time", () => 1);
  const plants = Array.from({ length: count }, (_, id) =>
    plant({ id: BigInt(id), name: `plant ${id}`, tag: id < 5 ? `tag ${id}` : undefined }),
  );
  new SqlitePlants(new Transactions(database), [plantStore], unexpected).create(
    toEntries(plantStore, plants),
    0,
  );
  const page: PageQuery = {
    table: "plants",
    conditions: [],
    // With an order a page takes two statements.
    terms: [{ key: "id", isDescending: false }],
    after: undefined,
    offset: 0,
    size: 3,
    bytesMax: 1_000,
    url: "/plants",
    ...query,
  };
  const work = pageWork(plantStore, sqliteTraits, page, ms);
  let step = work.next();
  for (let statements = 0; step.done !== true; statements++) {
    if (statements === 1) database.run(change);
    step = work.next(step.value.map((statement) => runStatement(database, statement)));
  }
  return step.value;
}

const idsOf = ({ json }: Page) => JSON.parse(json).map(({ name }: { name: string }) => name);

test("a plant that is created between the statements of a page pushes none off it", () => {
  const page = readPage("INSERT INTO plants (id, name, created_at) VALUES (-1, 'new', 0)", {});
  expect(idsOf(page)).toEqual(["plant 0", "plant 1", "plant 2"]);
  expect(page).toMatchObject({ end: { id: 2n }, hasMore: true });
});

test("a page whose plants are all deleted between its statements is empty, and the next one begins after them", () => {
  const page = readPage("DELETE FROM plants WHERE id < 3", {});
  expect(page).toMatchObject({ json: "[]", count: 0, end: { id: 2n }, hasMore: true });
});

test("a page whose last plants are deleted meanwhile has the others, and goes on after those that are gone", () => {
  const page = readPage("DELETE FROM plants WHERE id IN (1, 2)", {});
  expect(idsOf(page)).toEqual(["plant 0"]);
  expect(page).toMatchObject({ end: { id: 2n }, hasMore: true });
  expect(readPage("DELETE FROM plants WHERE id = 8", { after: { values: [6n], id: 6n } })).toMatchObject({
    count: 1,
    hasMore: false,
  });
});

test("a page that is longer than its limit is cut, has one plant at least, and goes on after that", () => {
  const control = "UPDATE plants SET name = replace(hex(zeroblob(10)), '0', char(1))";
  for (const [bytesMax, count] of [
    [1, 1],
    [200, 1],
    [400, 2],
  ] as const) {
    const page = readPage(control, { bytesMax, size: 9 });
    expect([bytesMax, page.count]).toEqual([bytesMax, count]);
    expect(page).toMatchObject({ end: { id: BigInt(count - 1) }, hasMore: true, isCutShort: true });
    expect(JSON.parse(page.json)).toHaveLength(count);
  }
});

test("a page in the order of ids has the plants that a scan finds, whatever their length", () => {
  for (const bytesMax of [1_000, 100, 60, 40, 20, 1])
    for (const size of [1, 3, 20]) {
      const [found, scanned] = [[], [{ key: "id", isDescending: false }] as const].map((terms) => {
        const { end, ...page } = readPage("SELECT 1", { terms, bytesMax, size });
        return { ...page, end: end?.id };
      });
      expect(found).toEqual(scanned as typeof found);
    }
});

test("a page whose time is up says where to go on, whatever it has found", () => {
  const values = [{ value: "none", operator: "eq", isFallback: false }] as const;
  const none = { terms: [], conditions: [{ key: 0, operator: "eq", values }] } as const;
  const page = readPage("SELECT 1", none, 1_200, -1);
  expect(page).toMatchObject({ count: 0, hasMore: true, rest: { after: { id: 499n }, offset: 0 } });
  expect(readPage("SELECT 1", none, 1_200, 60_000)).toMatchObject({ hasMore: false, rest: undefined });
});

test("a page that begins among plants with a value goes on with those without one, among which it may begin", () => {
  for (const offset of [4, 6]) {
    const page = readPage("SELECT 1", { terms: [{ key: 1, isDescending: false }], offset });
    expect(idsOf(page)).toEqual([0, 1, 2].map((next) => `plant ${offset + next}`));
  }
});

test("texts that begin alike are compared as a whole", () => {
  const values = [{ value: `${"x".repeat(600)}5`, operator: "gt", isFallback: false }] as const;
  const greater = { terms: [], conditions: [{ key: 0, operator: "gt", values }] } as const;
  const page = readPage("UPDATE plants SET name = replace(hex(zeroblob(300)), '0', 'x') || id", {
    ...greater,
    bytesMax: 10_000,
  });
  expect(idsOf(page).map((name: string) => name.slice(600))).toEqual(["6", "7", "8"]);
});
