// Searching plants with and without each index, compared with a search through a list.

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { Client } from "pg";
import type { NewPlant } from "../../../../src/core/contract/plant.ts";
import { openStore } from "../../../../src/core/store/open-store.ts";
import type { Page, PlantReader, Search } from "../../../../src/core/store/plant-reader.ts";
import {
  endOfPrefix,
  type IdRange,
  type PlantQueries,
  searchPlants,
} from "../../../../src/core/store/plant-search.ts";
import { type ReadablePlantStore, toEntries } from "../../../../src/core/store/plant-store.ts";
import { engines, testIndex } from "../../../support/engines.ts";

/** Names whose order and beginnings are easily got wrong: the last code points, astral ones, long ones, the same twice. */
const names = [
  "",
  "Ficus",
  "Ficus",
  "Ficus elastica",
  "Ficut",
  "ficus",
  "Fícus",
  "Ficus\u{10ffff}",
  "Ficus\u{10ffff}\u{10ffff}x",
  "\u{10ffff}",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "\u{1f331} seedling",
  "%",
  "_",
  "Fi%",
  "a'b\"c\\",
  "x".repeat(99),
  "x".repeat(100),
  `${"x".repeat(100)}a`,
  `${"x".repeat(100)}b`,
  "y".repeat(100_000),
  "\u{1f331}".repeat(301),
  "\u202egnp.eman",
];
const tags = [undefined, "", "tropical", "Tropical", "t".repeat(5_000), `${"t".repeat(5_000)}u`, "\u{1f335}"];

const ids = [-(2n ** 63n), 2n ** 63n - 1n, 0n, -1n, 9_007_199_254_740_993n];

function plantsOf(): NewPlant[] {
  return Array.from({ length: 150 }, (_, index) => {
    const id = ids[index] ?? BigInt.asIntN(64, BigInt(index) * 0x9e37_79b9_7f4a_7c15n);
    const name = names[index % names.length] ?? "";
    const tag = tags[index % tags.length];
    return tag === undefined ? { id, name } : { id, name, tag };
  });
}

const byId = (one: NewPlant, other: NewPlant) => (one.id < other.id ? 1 : -1);

function byName(one: NewPlant, other: NewPlant): number {
  const [a, b] = [one, other].map(({ name }) => Buffer.from([...name].slice(0, 100).join("")));
  const order = Buffer.compare(a ?? Buffer.alloc(0), b ?? Buffer.alloc(0));
  return order === 0 ? -byId(one, other) : order;
}

function byTag(one: NewPlant, other: NewPlant): number {
  return byName({ ...one, name: one.tag ?? "" }, { ...other, name: other.tag ?? "" });
}

/** A search of all plants by id, highest first, but for what is given. */
const searchFor = (given: Partial<Search>): Search => ({
  ...{ text: "", tag: undefined, order: "id", isDescending: true, cursor: undefined, isBackward: false },
  plantsMax: 50,
  ...given,
});

async function pageOf(reader: PlantReader, given: Partial<Search>): Promise<Page> {
  const page = await reader.search(searchFor(given));
  if (page === "noIndex") throw new Error("there is no index");
  return page;
}

/** All plants of a search, page by page; then back from the last page to the first, which must be the same. */
async function found(reader: PlantReader, given: Partial<Search>, hasGaps = false) {
  const plantsMax = given.plantsMax ?? 50;
  const pages: Page[] = [];
  let cursor: Search["cursor"];
  do {
    const page = await pageOf(reader, { ...given, cursor });
    expect(page.plants.length).toBeLessThanOrEqual(plantsMax);
    if (page.next !== undefined && page.searchedTo === undefined && !hasGaps)
      expect(page.plants.length).toBe(plantsMax);
    expect(page.previous === undefined).toBe(cursor === undefined);
    pages.push(page);
    cursor = page.next;
  } while (cursor !== undefined);
  for (let index = pages.length - 1; index > 0 && !hasGaps; index--) {
    const back = await pageOf(reader, { ...given, cursor: pages[index]?.previous, isBackward: true });
    expect(back.plants).toEqual(pages[index - 1]?.plants ?? []);
    expect(back.next === undefined).toBe(false);
    expect(back.previous === undefined).toBe(index === 1);
  }
  const { order, isDescending, match } = pages[0] as Page;
  return { order, isDescending, match, ids: pages.flatMap(({ plants }) => plants.map(({ id }) => id)) };
}

async function runSql(database: string, sql: string): Promise<void> {
  if (database.startsWith("sqlite:")) {
    using file = new Database(database.slice("sqlite:".length));
    file.run(sql);
    return;
  }
  const client = new Client({ connectionString: database });
  await client.connect();
  await client.query(sql);
  await client.end();
}

const prefixes = ["", "F", "Ficus", "Ficus\u{10ffff}", "\ud7ff", "\u{10ffff}", "%", "a'b", "x".repeat(100)];

const texts = [
  "fic",
  "FICUS",
  "cus e",
  "seedling",
  "a'b\"c\\",
  "tro",
  "ROPICAL",
  "xxx",
  "%",
  "Fi%",
  "no plant's",
];

const foldedIncludes = (text: string | undefined, part: string) =>
  text?.toLowerCase().includes(part.toLowerCase()) ?? false;

async function expectRightFinds(reader: PlantReader, plants: readonly NewPlant[]): Promise<void> {
  const states = await reader.indexStates();
  const idsOf = (
    some: readonly NewPlant[],
    order: (one: NewPlant, other: NewPlant) => number,
    isDescending: boolean,
  ) => {
    const ascending = some
      .toSorted(order === byId ? (one, other) => -byId(one, other) : order)
      .map(({ id }) => id);
    return isDescending ? ascending.toReversed() : ascending;
  };
  for (const [plantsMax, isDescending] of [
    [1, true],
    [7, false],
    [7, true],
    [200, false],
  ] as const) {
    const paging = { plantsMax, isDescending };
    expect((await found(reader, paging)).ids).toEqual(idsOf(plants, byId, isDescending));
    for (const [order, compare] of [
      ["name", byName],
      ["tag", byTag],
    ] as const) {
      if (states[order] !== "ready") expect(await reader.search(searchFor({ order }))).toBe("noIndex");
      else {
        const listed = order === "tag" ? plants.filter(({ tag }) => tag !== undefined) : plants;
        expect((await found(reader, { ...paging, order })).ids).toEqual(idsOf(listed, compare, isDescending));
      }
    }
    // Single plants to a page are turned without a search: each page is a query.
    for (const text of plantsMax === 1 ? [] : [...prefixes, ...texts].filter((each) => each !== "")) {
      for (const tag of plantsMax === 7 ? [undefined, "tropical", "", "t".repeat(5_000)] : [undefined]) {
        const { order, isDescending: isDown, match, ids } = await found(reader, { ...paging, text, tag });
        expect(isDown).toBe(order === "id" ? isDescending : false);
        const isContained = states.text === "ready" && Array.from(text).length >= 3;
        expect(match).toBe(isContained ? "contains" : "begins");
        expect(order).toBe(!isContained && states.name === "ready" && tag === undefined ? "name" : "id");
        const matching = plants.filter(
          (plant) =>
            (tag === undefined || plant.tag === tag) &&
            (isContained
              ? foldedIncludes(plant.name, text) || foldedIncludes(plant.tag, text)
              : plant.name.startsWith(text)),
        );
        expect(ids).toEqual(idsOf(matching, order === "name" ? byName : byId, isDown));
      }
    }
    for (const tag of [...tags, "nobody's"]) {
      const matching = plants.filter((plant) => plant.tag === (tag ?? "tag"));
      const { ids } = await found(reader, { ...paging, tag: tag ?? "tag" });
      expect(ids).toEqual(idsOf(matching, byId, isDescending));
    }
  }
}

/** The index "newest" as earlier versions built it. */
const earlierIndex = {
  sqlite: `CREATE TABLE plant_arrivals (position INTEGER PRIMARY KEY, id INTEGER NOT NULL) STRICT;
           CREATE TRIGGER plants_arrive AFTER INSERT ON plants
           BEGIN INSERT INTO plant_arrivals (id) VALUES (new.id); END`,
  postgres: `CREATE TABLE plant_arrivals (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint NOT NULL);
             CREATE FUNCTION plants_arrive() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
             BEGIN INSERT INTO plant_arrivals (id) SELECT id FROM arrived; RETURN NULL; END $$;
             CREATE TRIGGER plants_arrive AFTER INSERT ON plants REFERENCING NEW TABLE AS arrived
             FOR EACH STATEMENT EXECUTE FUNCTION plants_arrive()`,
} as const;

for (const engine of engines) {
  describe(`${engine.name}: searching plants`, () => {
    async function withStore(
      use: (store: ReadablePlantStore, reader: PlantReader, database: string) => Promise<void>,
    ) {
      await using place = await engine.createTestStore();
      const store = await openStore(place.database, "create", () => undefined);
      const reader = await store.openReader();
      try {
        await use(store, reader, place.database);
      } finally {
        await reader.close();
        await store.close();
      }
    }

    const testNewest = testIndex(engine, "newest");

    testIndex(engine, "text")(
      "finds the same plants with every index and without, while indexes are created and dropped",
      async () => {
        await withStore(async (store, reader) => {
          const plants = plantsOf();
          await store.create(toEntries(plants.slice(0, 75)));
          expect(await reader.indexStates()).toEqual({
            newest: "none",
            name: "none",
            tag: "none",
            text: "none",
          });
          const { indexNames } = engine;
          for (const name of indexNames) await store.indexes.create(name);
          // Plants that exist when an index is created are in it, and later ones too.
          await store.create(toEntries(plants.slice(75)));
          const newest = indexNames.includes("newest") ? "ready" : "none";
          expect(await reader.indexStates()).toEqual({ newest, name: "ready", tag: "ready", text: "ready" });
          await expectRightFinds(reader, plants);
          for (const name of indexNames) await store.indexes.create(name);
          for (const name of indexNames) await store.indexes.drop(name);
          for (const name of indexNames) await store.indexes.drop(name);
          expect(await reader.indexStates()).toEqual({
            newest: "none",
            name: "none",
            tag: "none",
            text: "none",
          });
          await expectRightFinds(reader, plants);
        });
      },
    );

    testNewest("newest first is the order of creation since the index was created", async () => {
      await withStore(async (store, reader) => {
        const plants = plantsOf();
        expect(await reader.search(searchFor({ order: "created" }))).toBe("noIndex");
        await store.create(toEntries(plants.slice(0, 50)));
        await store.indexes.create("newest");
        await store.create(toEntries(plants.slice(50, 100)));
        // Replays and conflicts create nothing.
        await store.create(toEntries(plants.slice(40, 60)));
        await store.create(toEntries(plants.slice(60, 62).map((plant) => ({ ...plant, name: "another" }))));
        for (const plant of plants.slice(100)) await store.create(toEntries([plant]));
        const { order, ids } = await found(reader, { order: "created", plantsMax: 7 });
        expect(order).toBe("created");
        const batch = new Set(plants.slice(50, 100).map(({ id }) => id));
        expect(ids.slice(0, 50)).toEqual(
          plants
            .slice(100)
            .map(({ id }) => id)
            .toReversed(),
        );
        // Within a batch PostgreSQL keeps its own order.
        expect(new Set(ids.slice(50))).toEqual(batch);
      });
    });

    testIndex(engine, "text")("a search continues from page to page while its index is created", async () => {
      await withStore(async (store, reader) => {
        const plants = plantsOf();
        await store.create(toEntries(plants));
        const matching = plants.filter(({ name }) => name.startsWith("F"));
        const search = { text: "F", plantsMax: 10 };
        const first = await pageOf(reader, search);
        await store.indexes.create("name");
        const ids = first.plants.map(({ id }) => id);
        for (let cursor = first.next; cursor !== undefined; ) {
          const page = await pageOf(reader, { ...search, cursor });
          ids.push(...page.plants.map(({ id }) => id));
          expect(ids.length).toBeLessThanOrEqual(matching.length);
          cursor = page.next;
        }
        expect(ids).toEqual(matching.toSorted(byId).map(({ id }) => id));
      });
    });

    testNewest(
      "a plant that is deleted leaves the list of creations, and one that is created again has a new entry",
      async () => {
        await withStore(async (store, reader, database) => {
          await store.indexes.create("newest");
          for (let id = 1n; id <= 9n; id++) await store.create(toEntries([{ id, name: "" }]));
          await runSql(database, "DELETE FROM plants WHERE id IN (9, 4, 5)");
          await store.create(toEntries([{ id: 4n, name: "again" }]));
          const { ids } = await found(reader, { order: "created", plantsMax: 2 });
          expect(ids).toEqual([4, 8, 7, 6, 3, 2, 1].map(BigInt));
          const created = await reader.creations([4n, 5n, 8n]);
          expect(created.toSorted((one, other) => Number(one.id - other.id))).toEqual([
            { id: 4n, createdAt: expect.any(Number), token: null },
            { id: 8n, createdAt: expect.any(Number), token: "ci" },
          ]);
        });
      },
    );

    testNewest(
      "the tokens of a batch are recorded with the plants that it creates, and counted by their time",
      async () => {
        await withStore(async (store, reader) => {
          expect(await reader.createdSince([0])).toBeUndefined();
          expect(await reader.creations([1n])).toEqual([]);
          const startedAt = Date.now();
          await store.indexes.create("newest");
          expect(await reader.createdSince([0])).toEqual([0]);
          await store.create(toEntries([{ id: 1n, name: "a" }]));
          const hostile = `a "b" \\ ' {"c": 1}`;
          const batch = [5n, 1n, 3n, 2n, 4n].map((id) => ({ id, name: "a" }));
          await store.create(toEntries(batch));
          const many = Array.from({ length: 3_000 }, (_, index) => ({
            id: BigInt(1_000 + index),
            name: "x",
          }));
          await store.create(toEntries(many));
          const recorded = await reader.creations([1n, 2n, 3n, 4n, 5n, 1_000n, 3_999n]);
          const tokens = new Map(recorded.map(({ id, token }) => [id, token]));
          expect([1n, 2n, 3n, 4n, 5n, 1_000n, 3_999n].map((id) => tokens.get(id))).toEqual([
            ...["first", "other", hostile, "\u{1f331}", hostile],
            ...["token 0", `token ${2_999 % 7}`],
          ]);
          // The clock of the store may have ticked on from that of the test, but not by a minute.
          for (const { createdAt } of recorded)
            expect(Math.abs((createdAt ?? 0) - startedAt)).toBeLessThan(60_000);
          expect(await reader.createdSince([0, startedAt + 3_600_000])).toEqual([3_005, 0]);
        });
      },
    );

    testNewest(
      "an index of an earlier version lists creations, and is upgraded by creating it again",
      async () => {
        await withStore(async (store, reader, database) => {
          await store.create(toEntries([1n, 2n].map((id) => ({ id, name: "before" }))));
          await runSql(database, earlierIndex[engine.name as keyof typeof earlierIndex]);
          for (const id of [5n, 3n, 4n]) await store.create(toEntries([{ id, name: "old" }]));
          await runSql(database, "DELETE FROM plants WHERE id = 3");
          await store.create(toEntries([{ id: 3n, name: "again" }]));
          await runSql(database, "DELETE FROM plants WHERE id = 4");
          expect((await reader.indexStates()).newest).toBe("outdated");
          expect((await found(reader, { order: "created", plantsMax: 1 }, true)).ids.slice(0, 1)).toEqual([
            3n,
          ]);
          expect(await reader.creations([5n])).toEqual([]);
          await store.indexes.create("newest");
          expect((await reader.indexStates()).newest).toBe("ready");
          await store.create(toEntries([{ id: 6n, name: "new" }]));
          expect((await found(reader, { order: "created", plantsMax: 2 })).ids).toEqual([6n, 3n, 5n]);
          expect(
            (await reader.creations([5n, 6n])).toSorted((one, other) => Number(one.id - other.id)),
          ).toEqual([
            { id: 5n, createdAt: null, token: null },
            { id: 6n, createdAt: expect.any(Number), token: "ci" },
          ]);
          await store.indexes.drop("newest");
          expect((await reader.indexStates()).newest).toBe("none");
        });
      },
    );

    test("plants and their tags are counted in parts", async () => {
      await withStore(async (store, reader) => {
        expect(await reader.countPart(undefined, 10)).toEqual({ plants: 0, lastId: undefined, tags: [] });
        const plants = plantsOf();
        await store.create(toEntries(plants));
        const counts = new Map<string, number>();
        let [total, afterId]: [number, bigint | undefined] = [0, undefined];
        for (;;) {
          const { plants: some, lastId, tags: groups } = await reader.countPart(afterId, 40);
          if (lastId === undefined) break;
          expect(some).toBeLessThanOrEqual(40);
          total += some;
          for (const [tag, number] of groups) counts.set(tag, (counts.get(tag) ?? 0) + number);
          afterId = lastId;
        }
        expect(total).toBe(plants.length);
        const expected = Map.groupBy(
          plants.filter(({ tag }) => tag !== undefined),
          ({ tag = "" }) => [...tag].slice(0, 100).join(""),
        );
        expect([...counts].toSorted()).toEqual(
          [...expected].map(([tag, some]): [string, number] => [tag, some.length]).toSorted(),
        );
      });
    });

    testIndex(engine, "text")(
      "the index of texts follows changes and deletions by SQL, and ignores case",
      async () => {
        await withStore(async (store, reader, database) => {
          await store.create(
            toEntries([
              { id: -5n, name: "Monstera deliciosa" },
              { id: 2n ** 62n, name: "x", tag: "MONSTER" },
            ]),
          );
          await store.indexes.create("text");
          await store.create(toEntries([{ id: 7n, name: "a monsterous plant", tag: "b" }]));
          const idsOf = async (text: string) => (await found(reader, { text })).ids;
          expect(await idsOf("onster")).toEqual([2n ** 62n, 7n, -5n]);
          await runSql(database, "UPDATE plants SET name = 'Ficus' WHERE id = -5");
          await runSql(database, "DELETE FROM plants WHERE id = 7");
          expect(await idsOf("oNSTER")).toEqual([2n ** 62n]);
          expect(await idsOf("FICUS")).toEqual([-5n]);
          await store.create(toEntries([{ id: 7n, name: "monster" }]));
          expect(await idsOf("monster")).toEqual([2n ** 62n, 7n]);
        });
      },
    );

    test("truncates long names in lists, and returns a single plant complete", async () => {
      await withStore(async (store, reader) => {
        const long = { id: 1n, name: "\u{1f331}".repeat(301), tag: "t" };
        const plants = [
          long,
          { id: 2n, name: "\u{1f331}".repeat(300) },
          { id: 3n, name: "", tag: "t".repeat(301) },
        ];
        await store.create(toEntries(plants));
        const shown = await reader.withIds([3n, 1n, 9n, 2n]);
        expect(shown).toEqual(
          [
            { id: 3n, name: "", tag: "t".repeat(300), isTruncated: true },
            { id: 1n, name: "\u{1f331}".repeat(300), tag: "t", isTruncated: true },
            { id: 2n, name: "\u{1f331}".repeat(300), tag: null, isTruncated: false },
          ].map((plant) => expect.objectContaining(plant)),
        );
        expect(await reader.get(1n)).toEqual(long);
        expect(await reader.get(9n)).toBeUndefined();
      });
    });
  });
}

test("the end of a prefix is past all texts with the prefix, and no other text is between", () => {
  expect(endOfPrefix("")).toBeUndefined();
  expect(endOfPrefix("a")).toBe("b");
  expect(endOfPrefix("a\ud7ff")).toBe("a\ue000");
  expect(endOfPrefix("a\u{10ffff}")).toBe("b");
  expect(endOfPrefix("\u{10ffff}\u{10ffff}")).toBeUndefined();
  expect(endOfPrefix("\uffff")).toBe("\u{10000}");
});

test("a search without an index ends at its time limit, reports how far it came, and can be continued", async () => {
  // Each look at the clock costs 300 ms here, so that few ranges fit into the time.
  let clock = 0;
  const now = () => {
    clock += 300;
    return clock;
  };
  const all = Array.from({ length: 20_000 }, (_, index) => BigInt(20_000 - index));
  const ranges: number[] = [];
  const states = async () => ({ newest: "none", name: "none", tag: "none", text: "none" }) as const;
  const rows = {
    async idRangeEnd(idMax: bigint, _: boolean, plants: number) {
      const range = all.filter((id) => id <= idMax).slice(0, plants);
      ranges.push(range.length);
      return range.at(-1);
    },
    async inIdRange(_: unknown, { min, max }: IdRange, __: boolean, plantsMax: number) {
      const matching = all.filter((id) => id >= min && id <= max && id % 1_000n === 0n).slice(0, plantsMax);
      return matching.map((id) => ({
        id,
        name: "",
        tag: "t",
        isTruncated: false,
        cursor: { order: "id", number: id },
      }));
    },
  } as unknown as PlantQueries;
  const found: bigint[] = [];
  let searches = 0;
  let cursor: Search["cursor"];
  do {
    const page = await searchPlants(rows, states, searchFor({ tag: "t", cursor, plantsMax: 3 }), now);
    if (page === "noIndex") throw new Error("that is not asked of tags");
    expect(page.plants.length).toBeLessThanOrEqual(3);
    if (page.searchedTo !== undefined) expect(page.next?.number).toBe(page.searchedTo);
    found.push(...page.plants.map(({ id }) => id));
    cursor = page.next;
    searches++;
  } while (cursor !== undefined);
  expect(found).toEqual(all.filter((id) => id % 1_000n === 0n));
  expect(searches).toBeGreaterThan(7);
  // A slow range makes the next one smaller.
  expect(Math.min(...ranges)).toBeLessThan(1_000);
});
