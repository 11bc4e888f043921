// The search for texts by FTS5: by the parts that the fewest plants have, with the results of a search for the whole text.

import { expect, test } from "bun:test";
import { openDatabase } from "../../../../../src/core/store/sqlite/connection.ts";
import type { Database } from "../../../../../src/core/store/sqlite/driver.ts";
import { SqliteIndexes } from "../../../../../src/core/store/sqlite/indexes.ts";
import { SqlitePlantQueries } from "../../../../../src/core/store/sqlite/plant-queries.ts";
import { phrase, planRareParts, planWholeText } from "../../../../../src/core/store/sqlite/text-match.ts";
import { TemporaryFolder } from "../../../../support/server.ts";

/** A store with the index "text", of plants with the ids from 0 on. */
async function withPlants(
  plants: readonly (readonly [name: string, tag: string | null])[],
  work: (database: Database) => Promise<void>,
  shares: (number | undefined)[] = [],
): Promise<void> {
  using folder = new TemporaryFolder();
  const database = openDatabase(folder.file("plants.db"), "create");
  const insert = database.query("INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)");
  database.run("BEGIN");
  for (const [id, [name, tag]] of plants.entries()) insert.run(BigInt(id), name, tag);
  database.run("COMMIT");
  await new SqliteIndexes(database).create("text", ({ share }) => shares.push(share));
  try {
    await work(database);
  } finally {
    database.close();
  }
}

/** Characters that FTS5 folds: ASCII, those that become ASCII (the sign of Kelvin, the long s), others, and some of LIKE's. */
const words = [
  "kiwi",
  "Kiwi",
  "\u212aIWI",
  "\u017fa\u017f",
  "SAS",
  "İris",
  "ÀÉ",
  "àé",
  "100%",
  "a_b",
  "\\ \\",
  '"q"',
  "ש ש",
  "🌵🌱🌵",
];

test("the parts of a text find the plants that the whole text does, of every case and script, and with a tag", async () => {
  const word = (index: number) => words[index % words.length] ?? "";
  const plants = Array.from({ length: 3_000 }, (_, index) => {
    const name = `${word(index)} ${word(Math.floor(index / 14))} ${index}`;
    return [name, index % 5 === 0 ? null : `${word(index * 3)} ${index % 7}`] as const;
  });
  await withPlants(plants, async (database) => {
    const queries = new SqlitePlantQueries(database);
    const texts = plants.flatMap(([name], index) => {
      const characters = Array.from(name);
      const start = index % Math.max(1, characters.length - 3);
      const text = characters.slice(start, start + 3 + (index % 6)).join("");
      return index % 23 === 0 && Array.from(text).length >= 3 ? [text, text.toUpperCase(), `${text}q`] : [];
    });
    expect(texts.length).toBeGreaterThan(300);
    const expected = database.query<{ id: bigint }, [string]>(
      "SELECT rowid AS id FROM plants_text WHERE plants_text MATCH ? ORDER BY rowid DESC LIMIT 4000",
    );
    let found = 0;
    for (const text of texts) {
      const ids = expected.all(phrase(text)).map(({ id }) => id);
      found += ids.length;
      for (const tag of [undefined, "kiwi 3", "\u212aIWI 6"]) {
        const filter = { text, ...(tag !== undefined && { tag }) };
        const matching = ids.filter((id) => tag === undefined || plants[Number(id)]?.[1] === tag);
        for (const isQuick of [true, false]) {
          const byText = await queries.byText(filter, 2n ** 63n - 1n, true, 4_000, isQuick);
          const isLeftOut = isQuick && /[^\0-\x7f]/.test(text);
          const expectedIds = isLeftOut ? undefined : matching;
          expect({ text, tag, ids: byText?.map(({ id }) => id) }).toEqual({ text, tag, ids: expectedIds });
        }
        // As a search without time for the index continues.
        const range = { min: 0n, max: 3_000n, usesTagIndex: false };
        const scanned = await queries.inIdRange(filter, range, true, 4_000);
        expect({ text, tag, ids: scanned.map(({ id }) => id) }).toEqual({ text, tag, ids: matching });
      }
    }
    expect(found).toBeGreaterThan(10_000);
  });
});

test("a text is searched for by its rarest parts, and not at all if each of them is in too much of the index", async () => {
  const plants = Array.from(
    { length: 20_000 },
    (_, id) => [`Hoya carnosa ${id}`, `tag ${id % 100}`] as const,
  );
  await withPlants(plants, async (database) => {
    const parts = planRareParts(database, "Hoya carnosa 1777", undefined, 20)?.split(" AND ") ?? [];
    expect(parts.length).toBeGreaterThan(0);
    expect(parts.filter((part) => !/7/.test(part))).toEqual([]);
    // A part that no plant has is read at once.
    expect(planRareParts(database, "Hoya xarnosa", undefined, 0)).toContain("xar");
    expect(planWholeText(database, "Hoya xarnosa", 0)).toBe('"Hoya xarnosa"');
    // Every plant has these, in pages of 4 KB for some 600 of them.
    expect(planRareParts(database, "carnosa", undefined, 5)).toBeUndefined();
    expect(planWholeText(database, "carnosa", 20)).toBeUndefined();
    expect(planWholeText(database, "carnosa", 1_000)).toBe('"carnosa"');
    expect(planRareParts(database, "carnosa", "tag 77", 20)).toContain('tag : " 77"');
    expect(planRareParts(database, "Büste", undefined, 1_000)).toBeUndefined();
  });
});

test("the progress of the index of texts is reported", async () => {
  const plants = Array.from({ length: 250_000 }, (_, id) => [String(id), null] as const);
  const shares: (number | undefined)[] = [];
  await withPlants(plants, async () => undefined, shares);
  expect(shares).toEqual([0.4, 0.8, 1]);
});
