// Searches of plants, compared with a search through a list.

import { expect, test } from "bun:test";
import { parseQuery } from "../../../src/console/page/query.ts";
import { useContract } from "../../../src/console/page/shown-contract.ts";
import { pageContract } from "../../../src/console/page-contract.ts";
import {
  type Filter,
  parseFilter,
  type Reading,
  searchPlants,
} from "../../../src/console/reads/plant-search.ts";
import type { Plant } from "../../../src/contract/contract.ts";
import { parsePlantJson } from "../../../src/contract/plant.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import type { SqlConnection } from "../../../src/store/sql-connection.ts";
import { plant, plantStore } from "../../support/contracts.ts";
import { readThings } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import { openedStore, runSql } from "../../support/stored-plants.ts";

/**
 * Names that are easily got wrong: the last code points, astral ones, long ones, the same twice.
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

const plants: Plant[] = Array.from({ length: 150 }, (_, index) => {
  const id = ids[index] ?? BigInt.asIntN(64, BigInt(index) * 0x9e37_79b9_7f4a_7c15n);
  const name = names[index % names.length] ?? "";
  const tag = tags[index % tags.length];
  return plant({ id, name, tag });
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

/** The ids of all plants of a search, page by page. */
async function found(
  sql: SqlConnection,
  filter: Filter,
  { isDescending, plantsMax }: Omit<Reading, "after">,
  collection = plantStore,
): Promise<Plant["id"][]> {
  const ids: Plant["id"][] = [];
  let after: Plant["id"] | undefined;
  do {
    const page = await searchPlants(collection, sql, filter, { after, isDescending, plantsMax });
    expect(page.ids.length).toBeLessThanOrEqual(plantsMax);
    ids.push(...page.ids);
    after = page.next;
  } while (after !== undefined);
  return ids;
}

const tagged = (tag: string | undefined) =>
  parseFilter(plantStore, new URLSearchParams(tag === undefined ? { missing: "tag" } : { "is.tag": tag }));

/** Filters, and the plants that each should find. Even ids have the first token. */
function cases(createdAt: (id: bigint) => number): [Filter, (plant: Plant) => boolean][] {
  const [low, high] = [0n, 9_007_199_254_740_993n];
  const [from, end] = [20, 70];
  const isBetween = ({ id }: Plant) => BigInt(id) >= low && BigInt(id) <= high;
  const times = {
    "from.created": new Date(from).toISOString(),
    "below.created": new Date(end).toISOString(),
  };
  const { values } = parseFilter(plantStore, new URLSearchParams(times));
  const isInTime = ({ id }: Plant) => createdAt(BigInt(id)) >= from && createdAt(BigInt(id)) < end;
  const isEven = ({ id }: Plant) => BigInt(id) % 2n === 0n;
  const hasText = ({ values }: Plant, text: string) =>
    values.some((each) => typeof each === "string" && fold(each).includes(fold(text)));
  return [
    [{ words: [] }, () => true],
    ...texts.map((text): [Filter, (plant: Plant) => boolean] => [
      { words: [text] },
      (plant) => hasText(plant, text),
    ]),
    ...[...tags, "nobody's"].map((tag): [Filter, (plant: Plant) => boolean] => [
      tagged(tag),
      ({ values }) => values[1] === tag,
    ]),
    [{ words: [], ids: [low, high] }, isBetween],
    [{ words: [], ids: [high, low] }, () => false],
    [{ words: [], creator: "even" }, isEven],
    [{ words: [], creator: "nobody" }, () => false],
    [{ words: [], values: values ?? {} }, isInTime],
    [{ words: ["cus", "fi"] }, (plant) => hasText(plant, "cus") && hasText(plant, "fi")],
    [{ words: ["ropical", "ficus"] }, (plant) => hasText(plant, "ropical") && hasText(plant, "ficus")],
    [
      { ...tagged(undefined), words: ["ficus"], creator: "even", ids: [low, high], values: values ?? {} },
      (plant) =>
        hasText(plant, "ficus") &&
        plant.values[1] === undefined &&
        isEven(plant) &&
        isBetween(plant) &&
        isInTime(plant),
    ],
    [{ ...tagged("tropical"), creator: "odd" }, (plant) => plant.values[1] === "tropical" && !isEven(plant)],
  ];
}

for (const engine of engines)
  test(`${engine.name}: the right plants are found, page by page`, async () => {
    await using place = await engine.createTestStore();
    await using store = await openedStore(place.database);
    await using read = await store.openSql();
    for (const parity of [0n, 1n]) {
      const creator = await store.tokens.creatorKey(parity === 0n ? "even" : "odd");
      const ofParity = plants.filter(({ id }) => (BigInt(id) % 2n === 0n ? 0n : 1n) === parity);
      await store.create(toEntries(plantStore, ofParity, creator));
    }
    await runSql(place.database, "UPDATE plants SET created_at = abs(id % 97)");
    for (const [filter, isFound] of cases((id) => Math.abs(Number(id % 97n))))
      for (const [plantsMax, isDescending] of [
        [17, true],
        [200, false],
      ] as const) {
        // PostgreSQL's locale decides on it.
        if (filter.words[0] === "kiwi" && read.dialect === "postgres") continue;
        const expected = plants
          .filter(isFound)
          .map(({ id }) => id)
          .toSorted((one, other) => (one < other ? -1 : 1));
        const ids = await found(read, filter, { plantsMax, isDescending });
        expect({ filter, ids }).toEqual({ filter, ids: isDescending ? expected.toReversed() : expected });
      }
  });

/** The texts of nullable fields and of JSON, and what finds each of them. */
const valueSearches: readonly (readonly [word: string, ids: readonly bigint[]])[] = [
  ['6" pot', [1n, 5n]],
  ["C:\\x", [2n, 6n]],
  ['"', [1n, 5n]],
  ["\\", [2n, 6n]],
  ["null", [3n]],
  ["nul", [3n]],
  ["CAF", [7n, 8n]],
  ["caf\u00e9", [7n, 8n]],
  ["u00e9", []],
  ["a/b", [9n]],
  ["n\nb", [10n]],
  ["nnb", []],
  ["19.90", [11n]],
  ["size", [5n, 6n]],
  ["\u{1f331}", [12n, 13n]],
  ["50%", [14n]],
];

for (const engine of engines)
  test(`${engine.name}: texts that may be null and JSON are found by what they mean`, async () => {
    const collection = await readThings({
      properties: {
        note: { type: ["string", "null"] },
        price: { type: ["number", "null"] },
        info: { type: ["object", "null"] },
        any: {},
      },
    });
    const bodies = [
      '{"id":1,"note":"a 6\\" pot"}',
      '{"id":2,"note":"C:\\\\x"}',
      '{"id":3,"note":"it is null and void"}',
      '{"id":4,"note":null,"price":null,"info":null,"any":null}',
      '{"id":5,"info":{"size":"6\\u0022 pot"}}',
      '{"id":6,"info":{"size":["C:\\\\x"]}}',
      '{"id":7,"info":{"place":"caf\\u00e9"}}',
      '{"id":8,"any":"café"}',
      '{"id":9,"any":["a\\/b"]}',
      '{"id":10,"any":{"x":"n\\nb"}}',
      '{"id":11,"price":19.90}',
      '{"id":12,"info":{"\\ud83c\\udf31":1}}',
      '{"id":13,"note":"\u{1f331}"}',
      '{"id":14,"any":"50%\\u0000"}',
      `{"id":15,"any":${"[".repeat(1_500)}"\\\\"${"]".repeat(1_500)}}`,
    ];
    const things = bodies.flatMap((body) => {
      const thing = parsePlantJson(collection, body);
      return "values" in thing ? [thing] : [];
    });
    await using place = await engine.createTestStore(collection.source);
    await using store = await openedStore(place.database, undefined, collection.source);
    await using read = await store.openSql();
    await store.create(toEntries(collection, things));
    for (const [word, ids] of valueSearches) {
      const reading = { isDescending: false, plantsMax: 50 };
      const all = await found(read, { words: [word] }, reading, collection);
      expect([word, all.filter((id) => id !== 15n)]).toEqual([word, [...ids]]);
    }
  });

/** What is typed as a filter of a property, and the ids that it finds. */
const filters: readonly (readonly [query: string, ids: readonly bigint[]])[] = [
  ["email:ada@example.com", [1n]],
  ["Email:ADA@example.com", []],
  ["vip:true", [1n, 3n]],
  ["vip:false", [2n]],
  ["price:10..20", [1n, 2n]],
  ["price:10.50", [1n]],
  ["price:..10.5", [1n, 4n]],
  ["price:20.01..", [3n]],
  ["price:none", [5n]],
  ["stars:2..3 vip:true", [3n]],
  ["stars:none", [4n, 5n]],
  ["born:1990-01-01..1999-12-31", [1n, 2n]],
  ["born:1999-12-31", [2n]],
  ["seen-at:2026-11-02", [2n, 3n]],
  ["seen-at:2026-11-01..2026-11-02", [1n, 2n, 3n]],
];

for (const engine of engines)
  test(`${engine.name}: any property that is no object or list is a filter`, async () => {
    const collection = await readThings({
      properties: {
        email: { type: "string" },
        vip: { type: "boolean" },
        price: { type: "number", multipleOf: 0.01 },
        stars: { type: ["integer", "null"] },
        born: { type: "string", format: "date" },
        "seen-at": { type: "string", format: "date-time" },
        extras: { type: "object" },
      },
    });
    // The days are those of the operator.
    const at = (...time: [number, number, number, number]) => new Date(...time).toISOString();
    const bodies = [
      { email: "ada@example.com", vip: true, price: 10.5, stars: 1, born: "1990-01-01" },
      { email: "b@example.com", vip: false, price: 20, stars: 2, born: "1999-12-31" },
      { vip: true, price: 20.01, stars: 3, born: "2000-01-01" },
      { price: -1, stars: null },
      {},
    ];
    const seen = [at(2026, 10, 1, 23), at(2026, 10, 2, 0), at(2026, 10, 2, 23), at(2026, 10, 3, 0)];
    const things = bodies.flatMap((body, index) => {
      const thing = parsePlantJson(
        collection,
        JSON.stringify({ id: index + 1, ...body, "seen-at": seen[index] }),
      );
      return "values" in thing ? [thing] : [];
    });
    expect(things).toHaveLength(bodies.length);
    await using place = await engine.createTestStore(collection.source);
    await using store = await openedStore(place.database, undefined, collection.source);
    await using read = await store.openSql();
    await store.create(toEntries(collection, things));
    useContract(pageContract(collection));
    const reading = { isDescending: false, plantsMax: 50 };
    for (const [query, ids] of filters) {
      const { parameters, problem } = parseQuery(query);
      const filter = parseFilter(collection, new URLSearchParams(parameters));
      const all = await found(read, filter, reading, collection);
      expect([query, problem, all]).toEqual([query, "", [...ids]]);
    }
    for (const query of ["price:much", "price:..", "vip:perhaps", "seen-at:tomorrow", "born:", "extras:x"])
      expect(parseQuery(query).problem).not.toBe("");
    for (const value of ["is.price=much", "is.vip=perhaps", "from.seen-at=tomorrow"])
      expect(() => parseFilter(collection, new URLSearchParams(value))).toThrow(" must be ");
  });
