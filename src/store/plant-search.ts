// Finds plants by an index if there is one, and otherwise by scanning one range of ids after the other for a limited time.

import type { Clock } from "../observability/server-event.ts";
import type { Cursor, IndexStates, Page, PlantSummary, Search, SearchResult } from "./plant-reader.ts";

/** A plant with its position in the order that it was read in. */
export interface PlantAtCursor extends PlantSummary {
  readonly cursor: Cursor;
}

/** The position of a plant that is in the index and was deleted. */
export type DeletedEntry = Pick<PlantAtCursor, "cursor">;

/** The queries that an engine implements. Each returns at most `plantsMax` plants. */
export interface PlantQueries {
  /** Of these ids, in any order. */
  byIds(ids: readonly bigint[]): Promise<PlantAtCursor[]>;
  /** Highest id first, from `idMax` down. */
  byId(idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]>;
  /** Newest first, by the index, which still has the entries of deleted plants. */
  newest(before: bigint | undefined, plantsMax: number): Promise<(PlantAtCursor | DeletedEntry)[]>;
  /** In the order of names, then of ids, by the index. */
  byName(prefix: Prefix, after: Cursor | undefined, plantsMax: number): Promise<PlantAtCursor[]>;
  /** Highest id first, by the index. */
  byTag(tag: string, idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]>;
  /** The lowest id of a range: `plants` plants from `idMax` down, or all that are left; undefined if none are. */
  idRangeEnd(idMax: bigint, plants: number): Promise<bigint | undefined>;
  /** The plants of a range that match a filter, highest id first. */
  inIdRange(filter: SearchFilter, idMin: bigint, idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]>;
}

export type SearchFilter = { readonly prefix: Prefix } | { readonly tag: string };

/** A prefix of names, and the first text in the order of code points that is past all names with it. */
export interface Prefix {
  readonly text: string;
  /** Undefined if no text is past them. */
  readonly end: string | undefined;
}

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;

/** The time limit of a search without an index; the next page continues where it ended. */
const scanMsMax = 800;

/** How long one statement of such a search should take: a read transaction keeps SQLite from restarting the WAL. */
const rangeMs = 20;
const rangePlantsFirst = 1_000;
const rangePlantsMax = 1_000_000;

/** Searches one page. Rejects with the engine's own errors. */
export async function searchPlants(
  queries: PlantQueries,
  indexStates: () => Promise<IndexStates>,
  search: Search,
  now: Clock,
): Promise<SearchResult> {
  const { by, text, after, plantsMax } = search;
  const isIndexed = by !== "id" && (await indexStates())[by] === "ready";
  if (by === "newest") {
    if (!isIndexed) return "noIndex";
    return toPage("newest", await queries.newest(after?.number, plantsMax + 1), plantsMax);
  }
  if (by === "name") {
    const prefix = { text, end: endOfPrefix(text) };
    const hasKey = after?.key !== undefined;
    if (isIndexed && (after === undefined || hasKey))
      return toPage("name", await queries.byName(prefix, after, plantsMax + 1), plantsMax);
    // With a cursor of the other order the index was dropped or created between two pages. A cursor in the order of names
    // has no position in that of ids, so the scan starts over; a cursor in the order of ids continues the scan.
    return scan(queries, { prefix }, hasKey ? int64Max : below(after), plantsMax, now);
  }
  const idMax = below(after);
  if (by === "tag" && !isIndexed) return scan(queries, { tag: text }, idMax, plantsMax, now);
  if (idMax === undefined) return toPage("id", [], plantsMax);
  const found = by === "id" ? queries.byId(idMax, plantsMax + 1) : queries.byTag(text, idMax, plantsMax + 1);
  return toPage("id", await found, plantsMax);
}

/** The highest id after a position in the order of ids; undefined if none is left. */
function below(after: Cursor | undefined): bigint | undefined {
  if (after === undefined) return int64Max;
  return after.number === int64Min ? undefined : after.number - 1n;
}

/**
 * The first text past all texts with a prefix, in the order of code points, which is that of UTF-8 bytes; undefined if
 * there is none.
 */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Surrogates are not characters: U+E000 follows U+D7FF.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/** Makes a page of rows that were read with a limit of one more than `plantsMax`. */
function toPage(
  order: Page["order"],
  rows: readonly (PlantAtCursor | DeletedEntry)[],
  plantsMax: number,
): Page {
  const onPage = rows.slice(0, plantsMax);
  const next = rows.length > plantsMax ? onPage.at(-1)?.cursor : undefined;
  const plants = onPage.filter((row) => "id" in row).map(toSummary);
  return { order, plants, next, searchedDownTo: undefined };
}

async function scan(
  queries: PlantQueries,
  filter: SearchFilter,
  idMaxFirst: bigint | undefined,
  plantsMax: number,
  now: Clock,
): Promise<Page> {
  const found: PlantAtCursor[] = [];
  const deadline = now() + scanMsMax;
  let idMax = idMaxFirst;
  let rangePlants = rangePlantsFirst;
  while (idMax !== undefined) {
    const startedAt = now();
    const idMin = await queries.idRangeEnd(idMax, rangePlants);
    if (idMin === undefined) break;
    found.push(...(await queries.inIdRange(filter, idMin, idMax, plantsMax + 1 - found.length)));
    if (found.length > plantsMax) return toPage("id", found, plantsMax);
    const endedAt = now();
    if (endedAt > deadline) {
      const next = { number: idMin };
      return { order: "id", plants: found.map(toSummary), next, searchedDownTo: idMin };
    }
    idMax = below({ number: idMin });
    // As many plants as the last range suggests for rangeMs, but at most four times as many as before.
    const fitting = Math.ceil((rangePlants * rangeMs) / Math.max(endedAt - startedAt, rangeMs / 4));
    rangePlants = Math.min(rangePlantsMax, fitting);
  }
  return toPage("id", found, plantsMax);
}

/** Summaries of the stored plants with these ids, in the order of the ids. */
export async function findSummaries(queries: PlantQueries, ids: readonly bigint[]): Promise<PlantSummary[]> {
  const plants = await queries.byIds(ids);
  const byId = new Map(plants.map((plant) => [plant.id, toSummary(plant)]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The plant without its position. */
function toSummary({ id, name, tag, isTruncated }: PlantAtCursor): PlantSummary {
  return { id, name, tag, isTruncated };
}
