// What FTS5 is asked for a text: the trigrams of it that the fewest plants have, as reading the lists of the others is in vain.

import type { SqlConnection } from "../core/store/sql-connection.ts";

/** The index finds texts of at least this many characters: trigrams have three. */
export const textCharactersMin = 3;

/**
 * Pages of 4 KB of the index, some 600 plants each, that a statement may read which compares each of these plants itself: about
 * 100 ms.
 */
const quickPagesMax = 200;

/** The same for a statement in which FTS5 compares the whole text by reading the lists of all of its trigrams: about 300 ms. */
const wholePagesMax = 3_000;

/** Trigrams that are in up to so many times as many pages as the rarest one are asked for, too: they leave fewer plants to compare. */
const rareFactor = 4;
const rarePartsMax = 4;

/**
 * The characters of a tag by which FTS5 finds it; the whole tag is compared then. A phrase of 5,000 times the same character took
 * it a second for each plant that has it.
 */
const tagCharactersMax = 30;

/** What plants must have: a text in the name or the tag, unless it is empty, and a whole tag. */
export interface Filter {
  readonly text: string;
  readonly tag: string | undefined;
}

/**
 * The query of FTS5 for the plants that match a filter, by the rarest trigrams: its result has other plants, too. Undefined if
 * these are many, or if the text has other characters than ASCII, which LIKE does not compare as FTS5 does.
 */
export async function planRareParts(
  sql: SqlConnection,
  { text, tag }: Filter,
  pagesMax = quickPagesMax,
): Promise<string | undefined> {
  if (!isAscii(text)) return undefined;
  const parts = [
    ...(await sizesOf(sql, text)),
    ...(await sizesOf(sql, startOfTag(tag))).map(({ query, pages }) => ({ query: `tag : ${query}`, pages })),
  ].toSorted((one, other) => one.pages - other.pages);
  const rarest = parts[0]?.pages ?? 0;
  if (rarest > pagesMax) return undefined;
  const rare = parts.slice(0, rarePartsMax).filter(({ pages }) => pages <= rareFactor * rarest);
  return rare.map(({ query }) => query).join(" AND ");
}

/** The query of FTS5 for the whole text, or else the start of the tag; undefined if its lists are long. */
export async function planWholeText(
  sql: SqlConnection,
  { text, tag }: Filter,
  pagesMax = wholePagesMax,
): Promise<string | undefined> {
  const whole = text === "" ? startOfTag(tag) : text;
  const pages = (await sizesOf(sql, whole)).map((part) => part.pages);
  // Where no plant has a trigram, FTS5 reads nothing.
  const isAbsent = pages.includes(0);
  if (!isAbsent && pages.reduce((sum, each) => sum + each, 0) > pagesMax) return undefined;
  return text === "" ? `tag : ${phrase(whole)}` : phrase(whole);
}

function startOfTag(tag = ""): string {
  return Array.from(tag).slice(0, tagCharactersMax).join("");
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

/**
 * About how many pages of the index each trigram of a text takes, from the tables of FTS5: in each segment of the index one has
 * the first page of every term that begins a page, and the other the pages themselves, the leaves first. A term that is not there
 * would get the size of the one before it, so it is looked up first. Terms of the index that is not one of prefixes begin with
 * a zero.
 */
async function sizesOf(sql: SqlConnection, text: string): Promise<{ query: string; pages: number }[]> {
  const sizes: { query: string; pages: number }[] = [];
  for (const part of trigrams(text)) {
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

/** Every three characters in a row, each once. */
function trigrams(text: string): string[] {
  const characters = Array.from(text);
  const count = Math.max(0, characters.length - textCharactersMin + 1);
  const parts = Array.from({ length: count }, (_, at) =>
    characters.slice(at, at + textCharactersMin).join(""),
  );
  return [...new Set(parts)];
}
