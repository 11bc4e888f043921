// Listing and searching plants, compared with a search through a list.

import { describe, expect, test } from "bun:test";
import { listPlants, type Page, type Search } from "../../../src/console/plant-list.ts";
import type { NewPlant } from "../../../src/core/contract/plant.ts";
import { type PlantStore, toEntries } from "../../../src/core/store/plant-store.ts";
import type { SqlConnection } from "../../../src/core/store/sql-connection.ts";
import { engines } from "../../support/engines.ts";
import { openedStore } from "../../support/stored-plants.ts";

/**
 * Names whose order is easily got wrong: the last code points, astral ones, long ones, the same
 * twice.
 */
const names = [
  "",
  "Ficus",
  "Ficus",
  "Ficus elastica",
  "ficus",
  "Fícus",
  "Ficus\u{10ffff}x",
  "\ud7ff",
  "\ue000",
  "\u{1f331} seedling",
  "%",
  "Fi%",
  "a'b\"c\\",
  // The sign of Kelvin and the long s, which some locales of PostgreSQL fold to k and s.
  "\u212aIWI \u017fa\u017f",
  "x".repeat(100),
  `${"x".repeat(100)}a`,
  "y".repeat(20_000),
  "\u{1f331}".repeat(301),
  "\u202egnp.eman",
];
const tags = [undefined, "", "tropical", "Tropical", "t".repeat(5_000), `${"t".repeat(5_000)}u`, "\u{1f335}"];
const ids = [-(2n ** 63n), 2n ** 63n - 1n, 0n, -1n, 9_007_199_254_740_993n];

const plants: NewPlant[] = Array.from({ length: 150 }, (_, index) => {
  const id = ids[index] ?? BigInt.asIntN(64, BigInt(index) * 0x9e37_79b9_7f4a_7c15n);
  const name = names[index % names.length] ?? "";
  const tag = tags[index % tags.length];
  return tag === undefined ? { id, name } : { id, name, tag };
});

const texts = [
  "F",
  "fic",
  "FICUS",
  "cus e",
  "seedling",
  "a'b\"c\\",
  "ROPICAL",
  "xxx",
  "%",
  "Fi%",
  "kiwi",
  "no plant's",
];

/** Folds what both engines fold: ASCII. */
const fold = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

const byId = (one: NewPlant, other: NewPlant) => (one.id < other.id ? -1 : 1);

function byText(textOf: (plant: NewPlant) => string) {
  const key = (plant: NewPlant) => Buffer.from(Array.from(textOf(plant)).slice(0, 100).join(""));
  return (one: NewPlant, other: NewPlant) => Buffer.compare(key(one), key(other)) || byId(one, other);
}

const searchFor = (given: Partial<Search>): Search => ({
  words: [],
  group: undefined,
  order: "id",
  isDescending: true,
  cursor: undefined,
  isBackward: false,
  plantsMax: 50,
  ...given,
});

/**
 * All plants of a search, page by page; then back from the last page to the first, which must be
 * the same.
 */
async function found(sql: SqlConnection, given: Partial<Search>): Promise<bigint[]> {
  const pages: Page[] = [];
  let cursor: Search["cursor"];
  do {
    const page = await listPlants(sql, searchFor({ ...given, cursor }));
    if (page.next !== undefined && page.searchedTo === undefined)
      expect(page.plants.length).toBe(given.plantsMax ?? 50);
    expect(page.previous === undefined).toBe(cursor === undefined);
    pages.push(page);
    cursor = page.next;
  } while (cursor !== undefined);
  for (let index = pages.length - 1; index > 0; index--) {
    const back = await listPlants(
      sql,
      searchFor({ ...given, cursor: pages[index]?.previous, isBackward: true }),
    );
    expect(back.plants).toEqual(pages[index - 1]?.plants ?? []);
    expect(back.previous === undefined).toBe(index === 1);
  }
  return pages.flatMap((page) => page.plants.map(({ id }) => id));
}

async function expectRightFinds(sql: SqlConnection): Promise<void> {
  for (const [plantsMax, isDescending] of [
    [17, false],
    [17, true],
    [200, false],
  ] as const) {
    const paging = { plantsMax, isDescending };
    const expectFound = async (
      given: Partial<Search>,
      matching: readonly NewPlant[],
      compare: (one: NewPlant, other: NewPlant) => number = byId,
    ) => {
      const expected = matching.toSorted(compare).map(({ id }) => id);
      if (isDescending) expected.reverse();
      expect({ given, ids: await found(sql, { ...paging, ...given }) }).toEqual({ given, ids: expected });
    };
    await expectFound({}, plants);
    await expectFound(
      { order: "name" },
      plants,
      byText(({ name }) => name),
    );
    const tagged = plants.filter(({ tag }) => tag !== undefined);
    await expectFound(
      { order: "tag" },
      tagged,
      byText(({ tag }) => tag ?? ""),
    );
    for (const text of texts)
      for (const tag of plantsMax === 17 && !isDescending
        ? [undefined, "tropical", "t".repeat(5_000)]
        : [undefined]) {
        // PostgreSQL's locale decides on it.
        if (text === "kiwi" && sql.dialect === "postgres") continue;
        const isFound = ({ name, tag: own = "" }: NewPlant) =>
          [name, own].some((each) => fold(each).includes(fold(text)));
        await expectFound(
          { words: [text], group: tag },
          plants.filter((plant) => isFound(plant) && (tag === undefined || plant.tag === tag)),
        );
      }
    for (const tag of [...tags, "nobody's"])
      if (tag !== undefined)
        await expectFound(
          { group: tag },
          plants.filter((plant) => plant.tag === tag),
        );
  }
}

/**
 * Filters besides the texts, alone and together, with what they should find; even ids have the
 * first token.
 */
async function expectRightFilters(sql: SqlConnection, createdAt: ReadonlyMap<bigint, number>): Promise<void> {
  const [low, high] = [0n, 9_007_199_254_740_993n];
  const times = [...createdAt.values()].toSorted((one, other) => one - other);
  const [from, end] = [times[20] ?? 0, times[90] ?? 0];
  const isBetween = ({ id }: NewPlant) => id >= low && id <= high;
  const isInTime = ({ id }: NewPlant) => (createdAt.get(id) ?? 0) >= from && (createdAt.get(id) ?? 0) < end;
  const isEven = ({ id }: NewPlant) => id % 2n === 0n;
  const cases: [Partial<Search>, (plant: NewPlant) => boolean][] = [
    [{ ids: [low, high] }, isBetween],
    [{ ids: [high, low] }, () => false],
    [{ group: null }, ({ tag }) => tag === undefined],
    [{ creator: "even" }, isEven],
    [{ creator: "nobody" }, () => false],
    [{ created: [from, end] }, isInTime],
    [{ words: ["cus", "fi"] }, ({ name }) => /fi.*cus|cus.*fi/i.test(name) || /Ficus/i.test(name)],
    [{ words: ["ropical", "ficus"] }, ({ name, tag = "" }) => /ficus/i.test(name) && /ropical/i.test(tag)],
    [{ words: ["Fícus", "tropical"] }, ({ name, tag }) => name === "Fícus" && /tropical/i.test(tag ?? "")],
    [
      { words: ["ficus"], group: null, creator: "even", ids: [low, high], created: [from, end] },
      (plant) =>
        /ficus/i.test(plant.name) &&
        plant.tag === undefined &&
        isEven(plant) &&
        isBetween(plant) &&
        isInTime(plant),
    ],
    [{ group: "tropical", creator: "odd" }, (plant) => plant.tag === "tropical" && !isEven(plant)],
  ];
  for (const [given, isFound] of cases)
    for (const isDescending of [true, false]) {
      const expected = plants.filter(isFound).map(({ id }) => id);
      const ids = await found(sql, { ...given, isDescending, plantsMax: 9 });
      const sorted = (some: readonly bigint[]) => some.toSorted((one, other) => (one < other ? -1 : 1));
      expect({ given, ids: sorted(ids) }).toEqual({ given, ids: sorted(expected) });
    }
}

interface Opened {
  readonly store: PlantStore;
  readonly read: SqlConnection;
  readonly write: SqlConnection;
}

async function withStore(
  engine: (typeof engines)[number],
  use: (opened: Opened) => Promise<void>,
): Promise<void> {
  await using place = await engine.createTestStore();
  await using store = await openedStore(place.database);
  await using read = await store.openSql("read");
  await using write = await store.openSql("write");
  await use({ store, read, write });
}

for (const engine of engines) {
  describe(`${engine.name}: the lists of the console`, () => {
    test("the right plants are found, page by page", async () => {
      await withStore(engine, async ({ store, read }) => {
        await store.create(toEntries(plants));
        await expectRightFinds(read);
      });
    });

    test("filters of id, tag, token and time are combined", async () => {
      await withStore(engine, async ({ store, read, write }) => {
        for (const parity of [0n, 1n]) {
          const creator = await store.tokens.creatorKey(parity === 0n ? "even" : "odd");
          const ofParity = plants.filter(({ id }) => (id % 2n === 0n ? 0n : 1n) === parity);
          await store.create(toEntries(ofParity, creator));
        }
        await write.query("UPDATE plants SET created_at = abs(id % 97)");
        const createdAt = new Map(plants.map(({ id }) => [id, Math.abs(Number(id % 97n))]));
        await expectRightFilters(read, createdAt);
      });
    });

    test("the plant whose id is searched for is listed alone", async () => {
      await withStore(engine, async ({ store, read }) => {
        const named = [1_003n, 1_004n].map((id) => ({ id, name: "Hoya 1003" }));
        await store.create(toEntries(named));
        const { plants: onPage, next } = await listPlants(read, searchFor({ words: ["1003"] }));
        expect(onPage.map(({ id }) => id)).toEqual([1_003n]);
        expect(next).toBeUndefined();
      });
    });

    test("in the order of creation, newest first, plants without a time are left out", async () => {
      await withStore(engine, async ({ store, read, write }) => {
        for (const plant of plants.slice(0, 20)) await store.create(toEntries([plant]));
        const sql = `UPDATE plants SET created_at = NULL WHERE id = ${plants[3]?.id}`;
        await write.query(sql);
        const { plants: listed } = await listPlants(read, searchFor({ order: "created" }));
        expect(listed.length).toBe(19);
        const times = listed.map(({ createdAt }) => createdAt ?? "");
        expect(times).toEqual(times.toSorted().reverse());
        expect((await found(read, { order: "created", plantsMax: 4 })).length).toBe(19);
        expect((await found(read, { order: "created", isDescending: false, plantsMax: 4 })).length).toBe(19);
      });
    });
  });
}
