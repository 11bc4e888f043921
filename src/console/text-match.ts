// Builds the FTS5 query of a search from the rarest trigrams of its words.

import type { SqlConnection } from "../core/store/sql-connection.ts";

/** The index finds words of at least this many characters: trigrams have three. */
const textCharactersMin = 3;

/**
 * Pages of 4 KiB of the index, some 600 plants each, that a statement may read which compares each
 * of these plants itself: about 100 ms.
 */
const quickPagesMax = 200;

/**
 * The limit for a statement in which FTS5 compares the whole text by reading the lists of all of
 * its trigrams: about 300 ms.
 */
const wholePagesMax = 3_000;

/**
 * The query also has trigrams that take up to this many times the pages of the rarest one: they
 * leave fewer plants to compare.
 */
const rareFactor = 4;
const rarePartsMax = 4;

/**
 * The characters of a tag by which FTS5 finds it; the whole tag is compared then. A phrase of 5,000
 * times the same character took it a second for each plant that has it.
 */
const tagCharactersMax = 30;

export interface TextFilter {
  /** Each is in one of the text fields. */
  readonly words: readonly string[];
  /** The whole tag; null for plants without one. */
  readonly tag: string | null | undefined;
}

export function hasIndexedText({ words, tag }: TextFilter): boolean {
  return words.some(isIndexedWord) || isIndexedWord(tag ?? "");
}

/** Whether a word is so long that the index finds it. */
export function isIndexedWord(word: string): boolean {
  return Array.from(word).length >= textCharactersMin;
}

/**
 * Builds the FTS5 query by the rarest trigrams, whose result has other plants, too. Undefined if
 * these are many, or if a word has other characters than ASCII, which LIKE does not compare as FTS5
 * does.
 */
export async function planRareParts(
  sql: SqlConnection,
  { words, tag }: TextFilter,
  pagesMax = quickPagesMax,
): Promise<string | undefined> {
  if (!words.every(isAscii)) return undefined;
  const parts = [
    ...(await sizesOf(sql, words)),
    ...(await sizesOf(sql, [startOfTag(tag)])).map(({ query, pages }) => ({
      query: `tag : ${query}`,
      pages,
    })),
  ].toSorted((one, other) => one.pages - other.pages);
  const rarest = parts[0]?.pages ?? 0;
  if (rarest > pagesMax) return undefined;
  const rare = parts.slice(0, rarePartsMax).filter(({ pages }) => pages <= rareFactor * rarest);
  return rare.map(({ query }) => query).join(" AND ");
}

/**
 * Builds the FTS5 query for the whole words, or else the start of the tag; undefined if its lists
 * are long.
 */
export async function planWholeText(
  sql: SqlConnection,
  { words, tag }: TextFilter,
  pagesMax = wholePagesMax,
): Promise<string | undefined> {
  const indexed = words.filter(isIndexedWord);
  const start = startOfTag(tag);
  const pages = (await sizesOf(sql, indexed.length === 0 ? [start] : indexed)).map((part) => part.pages);
  // FTS5 reads nothing if no plant has a trigram.
  const isAbsent = pages.includes(0);
  if (!isAbsent && pages.reduce((sum, each) => sum + each, 0) > pagesMax) return undefined;
  return indexed.length === 0 ? `tag : ${phrase(start)}` : phrases(indexed);
}

function startOfTag(tag: string | null | undefined): string {
  return Array.from(tag ?? "")
    .slice(0, tagCharactersMax)
    .join("");
}

/** The FTS5 query for plants that have all of some words. */
export function phrases(words: readonly string[]): string {
  return words.map(phrase).join(" AND ");
}

/** A text as a phrase of FTS5's query language, in which nothing else is special. */
function phrase(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

export function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

/**
 * About how many pages of the index each trigram of some words takes, from the tables of FTS5: in
 * each segment of the index one has the first page of every term that begins a page, and the other
 * the pages themselves, the leaves first. A term that is not there would get the size of the one
 * before it, so it is looked up first. Terms of the index that is not one of prefixes begin with a
 * zero.
 */
async function sizesOf(
  sql: SqlConnection,
  words: readonly string[],
): Promise<{ query: string; pages: number }[]> {
  const sizes: { query: string; pages: number }[] = [];
  for (const part of new Set(words.flatMap(trigrams))) {
    const [row] = await sql.query<{ pages: bigint | null }>(
      `SELECT sum(max(1, coalesce(
         (SELECT pgno / 2 FROM plants_text_idx WHERE segid = segment AND term > CAST($1 AS BLOB) ORDER BY term LIMIT 1),
         (SELECT max(id) + 1 FROM plants_text_data WHERE id BETWEEN segment << 37 AND (segment << 37) + (1 << 31) - 1)
           - (segment << 37)
       ) - (SELECT pgno / 2 FROM plants_text_idx WHERE segid = segment AND term <= CAST($1 AS BLOB)
            ORDER BY term DESC LIMIT 1))) AS pages
       FROM (SELECT DISTINCT segid AS segment FROM plants_text_idx)
       WHERE EXISTS (SELECT 1 FROM plants_text WHERE plants_text MATCH $2)`,
      [`0${part.toLowerCase()}`, phrase(part)],
    );
    sizes.push({ query: phrase(part), pages: Number(row?.pages ?? 0) });
  }
  return sizes;
}

function trigrams(text: string): string[] {
  const characters = Array.from(text);
  const count = Math.max(0, characters.length - textCharactersMin + 1);
  return Array.from({ length: count }, (_, at) => characters.slice(at, at + textCharactersMin).join(""));
}
