// Searching plants with and without each index, compared with a search through a list.

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { Client } from "pg";
import type { NewPlant } from "../../../src/contract/plant.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Page, PlantReader, Search } from "../../../src/store/plant-reader.ts";
import { endOfPrefix, type PlantQueries, searchPlants } from "../../../src/store/plant-search.ts";
import type { ReadablePlantStore } from "../../../src/store/plant-store.ts";
import { engines, testIndex } from "../../support/engines.ts";

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

/** All plants of a search, page by page. */
async function found(
  reader: PlantReader,
  by: Search["by"],
  text: string,
  plantsMax: number,
  hasGaps = false,
) {
  const all: Page["plants"][number][] = [];
  let after: Search["after"];
  let order: Page["order"] | undefined;
  do {
    const page = await reader.search({ by, text, after, plantsMax });
    if (page === "noIndex") throw new Error("there is no index");
    expect(page.plants.length).toBeLessThanOrEqual(plantsMax);
    if (page.next !== undefined && page.searchedDownTo === undefined && !hasGaps)
      expect(page.plants.length).toBe(plantsMax);
    all.push(...page.plants);
    order = page.order;
    after = page.next;
  } while (after !== undefined);
  return { order, ids: all.map(({ id }) => id), plants: all };
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

async function expectRightFinds(reader: PlantReader, plants: readonly NewPlant[]): Promise<void> {
  const states = await reader.indexStates();
  for (const plantsMax of [1, 7, 200]) {
    expect((await found(reader, "id", "", plantsMax)).ids).toEqual(plants.toSorted(byId).map(({ id }) => id));
    for (const prefix of prefixes) {
      const matching = plants.filter(({ name }) => name.startsWith(prefix));
      const { order, ids } = await found(reader, "name", prefix, plantsMax);
      expect(order).toBe(states.name === "ready" ? "name" : "id");
      expect(ids).toEqual(matching.toSorted(order === "name" ? byName : byId).map(({ id }) => id));
    }
    for (const tag of [...tags, "nobody's"]) {
      const matching = plants.filter((plant) => plant.tag === (tag ?? "tag"));
      const { ids } = await found(reader, "tag", tag ?? "tag", plantsMax);
      expect(ids).toEqual(matching.toSorted(byId).map(({ id }) => id));
    }
  }
}

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

    test("finds the same plants with every index and without, while indexes are created and dropped", async () => {
      await withStore(async (store, reader) => {
        const plants = plantsOf();
        await store.create(plants.slice(0, 75));
        expect(await reader.indexStates()).toEqual({ newest: "none", name: "none", tag: "none" });
        const { indexNames } = engine;
        for (const name of indexNames) await store.indexes.create(name);
        // Plants that exist when an index is created are in it, and later ones too.
        await store.create(plants.slice(75));
        const newest = indexNames.includes("newest") ? "ready" : "none";
        expect(await reader.indexStates()).toEqual({ newest, name: "ready", tag: "ready" });
        await expectRightFinds(reader, plants);
        for (const name of indexNames) await store.indexes.create(name);
        for (const name of indexNames) await store.indexes.drop(name);
        for (const name of indexNames) await store.indexes.drop(name);
        expect(await reader.indexStates()).toEqual({ newest: "none", name: "none", tag: "none" });
        await expectRightFinds(reader, plants);
      });
    });

    testNewest("newest first is the order of creation since the index was created", async () => {
      await withStore(async (store, reader) => {
        const plants = plantsOf();
        const search = { by: "newest", text: "", after: undefined, plantsMax: 200 } as const;
        expect(await reader.search(search)).toBe("noIndex");
        await store.create(plants.slice(0, 50));
        await store.indexes.create("newest");
        await store.create(plants.slice(50, 100));
        // Replays and conflicts create nothing.
        await store.create(plants.slice(40, 60));
        await store.create(plants.slice(60, 62).map((plant) => ({ ...plant, name: "another" })));
        for (const plant of plants.slice(100)) await store.create([plant]);
        const { order, ids } = await found(reader, "newest", "", 7);
        expect(order).toBe("newest");
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

    test("a search continues from page to page while its index is created", async () => {
      await withStore(async (store, reader) => {
        const plants = plantsOf();
        await store.create(plants);
        const first = await reader.search({ by: "name", text: "", after: undefined, plantsMax: 40 });
        if (first === "noIndex") throw new Error("that is not asked of names");
        await store.indexes.create("name");
        const ids = first.plants.map(({ id }) => id);
        for (let after = first.next; after !== undefined; ) {
          const page = await reader.search({ by: "name", text: "", after, plantsMax: 40 });
          if (page === "noIndex") throw new Error("that is not asked of names");
          ids.push(...page.plants.map(({ id }) => id));
          expect(ids.length).toBeLessThanOrEqual(plants.length);
          after = page.next;
        }
        expect(ids).toEqual(plants.toSorted(byId).map(({ id }) => id));
      });
    });

    testNewest("deleted plants do not end the list of the newest", async () => {
      await withStore(async (store, reader, database) => {
        await store.indexes.create("newest");
        for (let id = 1n; id <= 20n; id++) await store.create([{ id, name: "" }]);
        await runSql(database, "DELETE FROM plants WHERE id IN (20, 12, 11)");
        const { ids } = await found(reader, "newest", "", 5, true);
        expect(ids).toEqual([19, 18, 17, 16, 15, 14, 13, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map(BigInt));
      });
    });

    test("truncates long names in lists, and returns a single plant complete", async () => {
      await withStore(async (store, reader) => {
        const long = { id: 1n, name: "\u{1f331}".repeat(301), tag: "t" };
        const plants = [
          long,
          { id: 2n, name: "\u{1f331}".repeat(300) },
          { id: 3n, name: "", tag: "t".repeat(301) },
        ];
        await store.create(plants);
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
  const states = async () => ({ newest: "none", name: "none", tag: "none" }) as const;
  const rows = {
    async idRangeEnd(idMax: bigint, plants: number) {
      const range = all.filter((id) => id <= idMax).slice(0, plants);
      ranges.push(range.length);
      return range.at(-1);
    },
    async inIdRange(_: unknown, idMin: bigint, idMax: bigint, plantsMax: number) {
      const matching = all
        .filter((id) => id >= idMin && id <= idMax && id % 1_000n === 0n)
        .slice(0, plantsMax);
      return matching.map((id) => ({ id, name: "", tag: "t", isTruncated: false, cursor: { number: id } }));
    },
  } as unknown as PlantQueries;
  const found: bigint[] = [];
  let searches = 0;
  let after: Search["after"];
  do {
    const page = await searchPlants(rows, states, { by: "tag", text: "t", after, plantsMax: 3 }, now);
    if (page === "noIndex") throw new Error("that is not asked of tags");
    expect(page.plants.length).toBeLessThanOrEqual(3);
    if (page.searchedDownTo !== undefined) expect(page.next?.number).toBe(page.searchedDownTo);
    found.push(...page.plants.map(({ id }) => id));
    after = page.next;
    searches++;
  } while (after !== undefined);
  expect(found).toEqual(all.filter((id) => id % 1_000n === 0n));
  expect(searches).toBeGreaterThan(7);
  // A slow range makes the next one smaller.
  expect(Math.min(...ranges)).toBeLessThan(1_000);
});
