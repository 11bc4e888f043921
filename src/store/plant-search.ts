// Finds plants with an index where there is one, and without by looking through a stretch of ids after the other, for a
// limited time.

import type { Clock } from "../observability/server-event.ts";
import type { Cursor, IndexStates, Page, PlantSummary, Search, SearchResult } from "./plant-reader.ts";

/** A plant with what its place in an order is told by. */
export interface PlantAtCursor extends PlantSummary {
  readonly place: Cursor;
}

/** Where a plant was that somebody has deleted meanwhile. */
export type DeletedEntry = Pick<PlantAtCursor, "place">;

/** What an engine reads. All of them give at most so many plants. */
export interface PlantQueries {
  states(): Promise<IndexStates>;
  /** Highest id first, from this one down. */
  fromId(idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]>;
  /** Newest first, by the index, which also knows of plants that are deleted. */
  newest(before: bigint | undefined, plantsMax: number): Promise<(PlantAtCursor | DeletedEntry)[]>;
  /** In the order of names, then of ids, by the index. */
  named(prefix: Prefix, after: Cursor | undefined, plantsMax: number): Promise<PlantAtCursor[]>;
  /** Highest id first, by the index. */
  tagged(tag: string, idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]>;
  /** The id of the last plant of a stretch: so many plants from this id down, or all that are left; undefined if none are. */
  endOfStretch(idMax: bigint, plants: number): Promise<bigint | undefined>;
  /** What matches within a stretch, highest id first. */
  matching(
    condition: SearchFilter,
    idMin: bigint,
    idMax: bigint,
    plantsMax: number,
  ): Promise<PlantAtCursor[]>;
}

export type SearchFilter = { readonly prefix: Prefix } | { readonly tag: string };

/** A beginning of names, and the first text in the order of code points that is past all names with it. */
export interface Prefix {
  readonly text: string;
  /** Undefined where no text is past them. */
  readonly end: string | undefined;
}

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;

/** A search without an index takes so long at the most; whoever wants more asks on from where it ended. */
const scanMsMax = 800;

/** How long one statement of such a search should take: short, as it keeps the log of a SQLite store from being reused. */
const stretchMs = 20;
const stretchPlantsFirst = 1_000;
const stretchPlantsMax = 1_000_000;

export async function searchPlants(rows: PlantQueries, search: Search, now: Clock): Promise<SearchResult> {
  const { by, text, after, plantsMax } = search;
  const isIndexed = by !== "id" && (await rows.states())[by] === "ready";
  if (by === "newest") {
    if (!isIndexed) return "noIndex";
    return pageOf("newest", await rows.newest(after?.number, plantsMax + 1), plantsMax);
  }
  if (by === "name") {
    const prefix = { text, end: endOfPrefix(text) };
    const hasKey = after?.key !== undefined;
    if (isIndexed && (after === undefined || hasKey))
      return pageOf("name", await rows.named(prefix, after, plantsMax + 1), plantsMax);
    // A place in the order of names is none in that of ids: the index was dropped between two pages. Where it was made,
    // the search goes on by ids.
    return scan(rows, { prefix }, hasKey ? int64Max : below(after), plantsMax, now);
  }
  const idMax = below(after);
  if (by === "tag" && !isIndexed) return scan(rows, { tag: text }, idMax, plantsMax, now);
  if (idMax === undefined) return pageOf("id", [], plantsMax);
  const found = by === "id" ? rows.fromId(idMax, plantsMax + 1) : rows.tagged(text, idMax, plantsMax + 1);
  return pageOf("id", await found, plantsMax);
}

/** The highest id past a place in the order of ids; undefined where none is left. */
function below(after: Cursor | undefined): bigint | undefined {
  if (after === undefined) return int64Max;
  return after.number === int64Min ? undefined : after.number - 1n;
}

/**
 * The first text past all that begin with a prefix, where texts are ordered by their code points, as UTF-8 is by its
 * bytes; undefined if there is none.
 */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Surrogates are no characters: U+E000 follows U+D7FF.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/** A page of rows, one more of which was asked for than it may have. */
function pageOf(
  order: Page["order"],
  rows: readonly (PlantAtCursor | DeletedEntry)[],
  plantsMax: number,
): Page {
  const shown = rows.slice(0, plantsMax);
  const next = rows.length > plantsMax ? shown.at(-1)?.place : undefined;
  const plants = shown.filter((row) => "id" in row).map(withoutPlace);
  return { order, plants, next, searchedDownTo: undefined };
}

async function scan(
  rows: PlantQueries,
  condition: SearchFilter,
  idMaxFirst: bigint | undefined,
  plantsMax: number,
  now: Clock,
): Promise<Page> {
  const found: PlantAtCursor[] = [];
  const deadline = now() + scanMsMax;
  let idMax = idMaxFirst;
  let stretchPlants = stretchPlantsFirst;
  while (idMax !== undefined) {
    const startedAt = now();
    const idMin = await rows.endOfStretch(idMax, stretchPlants);
    if (idMin === undefined) break;
    found.push(...(await rows.matching(condition, idMin, idMax, plantsMax + 1 - found.length)));
    if (found.length > plantsMax) return pageOf("id", found, plantsMax);
    const endedAt = now();
    if (endedAt > deadline) {
      const next = { number: idMin };
      return { order: "id", plants: found.map(withoutPlace), next, searchedDownTo: idMin };
    }
    idMax = below({ number: idMin });
    // As many as the last stretch shows to be right, but at most four times as many.
    const fitting = Math.ceil((stretchPlants * stretchMs) / Math.max(endedAt - startedAt, stretchMs / 4));
    stretchPlants = Math.min(stretchPlantsMax, fitting);
  }
  return pageOf("id", found, plantsMax);
}

/** A plant as a list shows it. */
export function withoutPlace({ id, name, tag, isTruncated }: PlantAtCursor): PlantSummary {
  return { id, name, tag, isTruncated };
}
