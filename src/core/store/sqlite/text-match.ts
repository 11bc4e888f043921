// What FTS5 is asked for a text: the parts of it that the fewest plants have, as the lists of the others are read in vain.

import { textCharactersMin } from "../plant-reader.ts";
import type { Database } from "./driver.ts";

/**
 * Pages of 4 KB of the index, some 600 plants each, that a statement may read which compares each of these plants itself: about
 * 100 ms.
 */
export const quickPagesMax = 200;

/** The same for a statement in which FTS5 compares the whole text by reading the lists of all of its parts: about 300 ms. */
export const pagesMax = 3_000;

/** Parts that are in up to so many times as many pages as the rarest one are asked for, too: they leave fewer plants to compare. */
const rareFactor = 4;
const rarePartsMax = 4;

/**
 * The characters of a tag by which FTS5 finds it; the whole tag is compared then. A phrase of 5,000 times the same character took
 * it a second for each plant that has it.
 */
const tagCharactersMax = 30;

/**
 * The query of FTS5 for the plants with a text in the name or tag, and of a tag, by the parts that the fewest plants have: its
 * result has other plants, too. Undefined if these are many, or if the text has other characters than ASCII, which the plants cannot be
 * compared with.
 */
export function planRareParts(
  database: Database,
  text: string,
  tag: string | undefined,
  limit: number,
): string | undefined {
  if (!isAscii(text)) return undefined;
  const sizes = new TermSizes(database);
  const tagStart = Array.from(tag ?? "")
    .slice(0, tagCharactersMax)
    .join("");
  const parts = [
    ...trigrams(text).map((part) => ({ query: phrase(part), pages: sizes.pages(part) })),
    ...trigrams(tagStart).map((part) => ({ query: `tag : ${phrase(part)}`, pages: sizes.pages(part) })),
  ].toSorted((one, other) => one.pages - other.pages);
  const rarest = parts[0]?.pages ?? 0;
  const rare = parts.slice(0, rarePartsMax).filter(({ pages }) => pages <= rareFactor * rarest);
  return rarest > limit ? undefined : rare.map(({ query }) => query).join(" AND ");
}

/** The query of FTS5 for the whole text; undefined if its lists are long. */
export function planWholeText(database: Database, text: string, limit: number): string | undefined {
  const sizes = new TermSizes(database);
  const pages = trigrams(text).map((part) => sizes.pages(part));
  // Where no plant has a part, FTS5 reads nothing.
  const isAbsent = pages.includes(0);
  return isAbsent || pages.reduce((sum, each) => sum + each, 0) <= limit ? phrase(text) : undefined;
}

/** A text as a phrase of FTS5's query language, in which nothing else is special. */
export function phrase(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

export function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

/** The two characters that FTS5 folds to ASCII: the sign of Kelvin to k, and the long s to s. LIKE folds the case of ASCII itself. */
const foldedToAscii = [
  ["k", 0x212a],
  ["s", 0x17f],
] as const;

/** A column as LIKE finds an ASCII text in it wherever FTS5 does. */
export function foldedSql(column: string, text: string): string {
  const used = foldedToAscii.filter(([letter]) => text.toLowerCase().includes(letter));
  return used.reduce((sql, [letter, point]) => `replace(${sql}, char(${point}), '${letter}')`, column);
}

/** Every three characters in a row, each once. */
function trigrams(text: string): string[] {
  const characters = Array.from(text);
  const starts = Array.from(
    { length: Math.max(0, characters.length - textCharactersMin + 1) },
    (_, at) => at,
  );
  return [...new Set(starts.map((at) => characters.slice(at, at + textCharactersMin).join("")))];
}

/**
 * About how many pages of the index each term takes, from the tables of FTS5: in each segment of the index one has the first
 * page of every term that begins a page, and the other the pages themselves, the leaves first.
 */
class TermSizes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  pages(term: string): number {
    // A term that is not there would get the size of the one before it.
    const found = this.#database.query("SELECT 1 FROM plants_text WHERE plants_text MATCH ? LIMIT 1");
    if (found.get(phrase(term)) === null) return 0;
    const sizes = this.#database.query<{ pages: bigint | null }, [Uint8Array]>(
      `SELECT sum(max(1, coalesce(
         (SELECT pgno / 2 FROM plants_text_idx WHERE segid = segment AND term > ?1 ORDER BY term LIMIT 1),
         (SELECT max(id) + 1 FROM plants_text_data WHERE id BETWEEN segment << 37 AND (segment << 37) + (1 << 31) - 1)
           - (segment << 37)
       ) - (SELECT pgno / 2 FROM plants_text_idx WHERE segid = segment AND term <= ?1 ORDER BY term DESC LIMIT 1))) AS pages
       FROM (SELECT DISTINCT segid AS segment FROM plants_text_idx)`,
    );
    // Terms of the index that is not one of prefixes begin with a zero. FTS5 folds some characters otherwise than this: their
    // size is that of another term.
    return Number(sizes.get(Buffer.from(`0${term.toLowerCase()}`))?.pages ?? 0);
  }
}
