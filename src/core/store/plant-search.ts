// Finds plants by an index if there is one, and otherwise by scanning one range of ids after the other for a limited time.

import type { Clock } from "../observability/server-event.ts";
import {
  type CountedPart,
  type Cursor,
  type IndexStates,
  type Order,
  type Page,
  type PlantSummary,
  type Search,
  type SearchResult,
  textCharactersMin,
} from "./plant-reader.ts";

/** A plant with its position in the order that it was read in. */
export interface PlantAtCursor extends PlantSummary {
  readonly cursor: Cursor;
}

/** The position of a plant that is in the index and was deleted. */
export type DeletedEntry = Pick<PlantAtCursor, "cursor">;

/** The queries that an engine implements. Each returns at most `plantsMax` plants, in the direction of the order. */
export interface PlantQueries {
  /** Of these ids, in any order. */
  byIds(ids: readonly bigint[]): Promise<PlantAtCursor[]>;
  /** In the order of ids, beginning with the id `from`. */
  byId(from: bigint, isDescending: boolean, plantsMax: number): Promise<PlantAtCursor[]>;
  /** In the order of creation, by the index "newest", which may still have entries of deleted plants. */
  byCreation(
    after: bigint | undefined,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<(PlantAtCursor | DeletedEntry)[]>;
  /** In the order of names or tags, then of ids, by the index of that name. */
  byKey(
    column: "name" | "tag",
    prefix: Prefix,
    after: Cursor | undefined,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<PlantAtCursor[]>;
  /**
   * In the order of ids, beginning with the id `from`, by the index "text"; undefined if that would take too long, because very
   * many plants have each part of the text.
   *
   * @param isQuick only where the engine can tell beforehand that it takes some milliseconds.
   */
  byText(
    filter: SearchFilter & { readonly text: string },
    from: bigint,
    isDescending: boolean,
    plantsMax: number,
    isQuick: boolean,
  ): Promise<PlantAtCursor[] | undefined>;
  /**
   * The last id of a range that begins with the id `from`: of so many plants, or of all that are left; undefined if none
   * are. With a tag, of so many plants with that tag, by the index "tag".
   */
  idRangeEnd(
    from: bigint,
    isDescending: boolean,
    plants: number,
    tag: string | undefined,
  ): Promise<bigint | undefined>;
  /** The plants of a range that match a filter, in the order of ids. */
  inIdRange(
    filter: SearchFilter,
    range: IdRange,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<PlantAtCursor[]>;
}

export interface IdRange {
  readonly min: bigint;
  readonly max: bigint;
  /** Whether the range is read by the index "tag". */
  readonly usesTagIndex: boolean;
}

/** What plants must match: each property that is given. */
export interface SearchFilter {
  /** How the name begins. */
  readonly prefix?: Prefix;
  /** What the name or the tag contains, whatever its case. */
  readonly text?: string;
  /** The whole tag. */
  readonly tag?: string;
}

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

/**
 * How long plants are scanned for a text that the index "text" would find: a text that many plants have is found sooner by the
 * scan, and any other one by the index.
 */
const commonTextMsMax = 60;

/** The same if only the plants of a tag are scanned, by the index "tag": most tags have few enough. */
const taggedTextMsMax = 250;

/** How long one statement of such a search should take: a read transaction keeps SQLite from restarting the WAL. */
const rangeMs = 20;
const rangePlantsFirst = 1_000;
const rangePlantsMax = 1_000_000;

/** What a search reads: in the direction of reading, which is the opposite of the order's for a page backward. */
interface Reading {
  readonly queries: PlantQueries;
  readonly order: Order;
  readonly after: Cursor | undefined;
  readonly isDescending: boolean;
  /** One more than the page has. */
  readonly plantsMax: number;
  readonly now: Clock;
}

/** The plants that were read, up to `plantsMax`, and where a scan ended at its time limit. */
interface Rows {
  readonly rows: readonly (PlantAtCursor | DeletedEntry)[];
  readonly searchedTo?: bigint | undefined;
}

/** Searches one page. Rejects with the engine's own errors. */
export async function searchPlants(
  queries: PlantQueries,
  indexStates: () => Promise<IndexStates>,
  search: Search,
  now: Clock,
): Promise<SearchResult> {
  const states = await indexStates();
  const { order, read } = planSearch(search, states);
  if (order !== "id" && !isUsable(states, order)) return "noIndex";
  // The index was dropped or created between two pages: the cursor has no position in this order, so the list starts over.
  const cursor = search.cursor?.order === order ? search.cursor : undefined;
  const isBackward = search.isBackward && cursor !== undefined;
  // A search that chooses the order chooses its direction, too.
  const isDescendingPage = order === search.order ? search.isDescending : order === "id";
  const isDescending = isDescendingPage !== isBackward;
  const { rows, searchedTo } = await read({
    queries,
    order,
    after: cursor,
    isDescending,
    plantsMax: search.plantsMax + 1,
    now,
  });
  const hasMore = rows.length > search.plantsMax || searchedTo !== undefined;
  // A page that begins before the first plant: the first one instead, which is full.
  if (isBackward && !hasMore)
    return searchPlants(queries, indexStates, { ...search, cursor: undefined, isBackward: false }, now);
  const onPage = rows.slice(0, search.plantsMax);
  const further: Cursor | undefined =
    searchedTo === undefined ? onPage.at(-1)?.cursor : { order, number: searchedTo };
  const end = hasMore ? further : undefined;
  const start = cursor === undefined ? undefined : (onPage[0]?.cursor ?? past(cursor, isDescending));
  const plants = onPage.flatMap((row) => ("id" in row ? [toSummary(row)] : []));
  return {
    plants: isBackward ? plants.toReversed() : plants,
    order,
    isDescending: isDescendingPage,
    match: matchOf(search, states),
    previous: isBackward ? end : start,
    next: isBackward ? start : end,
    searchedTo,
  };
}

/** A position as seen from the other side: a page that is read from there in the other direction includes the plant beside it. */
function past(cursor: Cursor, isDescending: boolean): Cursor | undefined {
  if (cursor.order !== "id") return cursor;
  const number = beside(cursor.number, isDescending);
  return number === undefined ? undefined : { order: "id", number };
}

function isUsable(states: IndexStates, order: Exclude<Order, "id">): boolean {
  const state = states[order === "created" ? "newest" : order];
  return state === "ready" || (order === "created" && state === "outdated");
}

function matchOf({ text }: Search, states: IndexStates): Page["match"] {
  if (text === "") return undefined;
  return containsText(text, states) ? "contains" : "begins";
}

function containsText(text: string, states: IndexStates): boolean {
  return states.text === "ready" && Array.from(text).length >= textCharactersMin;
}

interface Plan {
  readonly order: Order;
  readonly read: (reading: Reading) => Promise<Rows>;
}

function planSearch({ text, tag, order, cursor }: Search, states: IndexStates): Plan {
  const tagFilter = tag === undefined ? {} : { tag };
  if (text === "" && tag === undefined) return { order, read: readAll };
  const usesTagIndex = tag !== undefined && states.tag === "ready";
  const prefix = { text, end: endOfPrefix(text) };
  if (text !== "" && containsText(text, states))
    return { order: "id", read: (reading) => readText(reading, { ...tagFilter, text }, usesTagIndex) };
  // A search that began without the index continues without it.
  if (text !== "" && tag === undefined && states.name === "ready" && cursor?.order !== "id")
    return { order: "name", read: (reading) => readByKey(reading, "name", prefix) };
  const filter = text === "" ? tagFilter : { ...tagFilter, prefix };
  return { order: "id", read: (reading) => scan(reading, filter, { usesTagIndex, msMax: scanMsMax }) };
}

async function readAll(reading: Reading): Promise<Rows> {
  const { queries, order, after, isDescending, plantsMax } = reading;
  if (order === "created") return { rows: await queries.byCreation(after?.number, isDescending, plantsMax) };
  if (order !== "id") return readByKey(reading, order, { text: "", end: undefined });
  const from = firstId(reading);
  return { rows: from === undefined ? [] : await queries.byId(from, isDescending, plantsMax) };
}

async function readByKey(
  { queries, after, isDescending, plantsMax }: Reading,
  column: "name" | "tag",
  prefix: Prefix,
): Promise<Rows> {
  return { rows: await queries.byKey(column, prefix, after, isDescending, plantsMax) };
}

async function readText(
  reading: Reading,
  filter: SearchFilter & { readonly text: string },
  usesTagIndex: boolean,
): Promise<Rows> {
  const { queries, isDescending, plantsMax, now } = reading;
  const startedAt = now();
  const first = firstId(reading);
  const quick = first === undefined ? [] : await queries.byText(filter, first, isDescending, plantsMax, true);
  if (quick !== undefined) return { rows: quick };
  const scanned = await scanRanges(reading, filter, {
    usesTagIndex,
    msMax: usesTagIndex ? taggedTextMsMax : commonTextMsMax,
  });
  if (scanned.rest === undefined) return scanned;
  const missing = plantsMax - scanned.rows.length;
  const rest = await queries.byText(filter, scanned.rest, isDescending, missing, false);
  if (rest !== undefined) return { rows: [...scanned.rows, ...rest] };
  const msMax = Math.max(0, scanMsMax - (now() - startedAt));
  const continued = { ...reading, plantsMax: missing };
  const further = await scan(continued, filter, { usesTagIndex, msMax, from: scanned.rest });
  return { ...further, rows: [...scanned.rows, ...further.rows] };
}

/** The first id after the cursor in the direction of reading; undefined if none is left. */
function firstId({ after, isDescending }: Reading): bigint | undefined {
  if (after === undefined) return isDescending ? int64Max : int64Min;
  return beside(after.number, isDescending);
}

function beside(id: bigint, isDescending: boolean): bigint | undefined {
  if (id === (isDescending ? int64Min : int64Max)) return undefined;
  return isDescending ? id - 1n : id + 1n;
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

interface ScanOptions {
  readonly usesTagIndex: boolean;
  readonly msMax: number;
  readonly from?: bigint | undefined;
}

/** Scans until the page is full, no plant is left, or the time is over. */
async function scan(reading: Reading, filter: SearchFilter, options: ScanOptions): Promise<Rows> {
  const { rows, rest } = await scanRanges(reading, filter, options);
  if (rest === undefined || rows.length >= reading.plantsMax) return { rows };
  const searchedTo = beside(rest, !reading.isDescending);
  return { rows, searchedTo };
}

/** Returns also the id with which the rest begins, undefined if no plant is left or the page is full. */
async function scanRanges(
  { queries, isDescending, plantsMax, now, ...reading }: Reading,
  filter: SearchFilter,
  { usesTagIndex, msMax, from: given }: ScanOptions,
): Promise<{ rows: PlantAtCursor[]; rest: bigint | undefined }> {
  const rows: PlantAtCursor[] = [];
  const deadline = now() + msMax;
  const tag = usesTagIndex ? filter.tag : undefined;
  let from = given ?? firstId({ queries, isDescending, plantsMax, now, ...reading });
  let rangePlants = rangePlantsFirst;
  while (from !== undefined) {
    const startedAt = now();
    const end = await queries.idRangeEnd(from, isDescending, rangePlants, tag);
    if (end === undefined) return { rows, rest: undefined };
    const range = { min: isDescending ? end : from, max: isDescending ? from : end, usesTagIndex };
    rows.push(...(await queries.inIdRange(filter, range, isDescending, plantsMax - rows.length)));
    if (rows.length >= plantsMax) return { rows, rest: undefined };
    const endedAt = now();
    from = beside(end, isDescending);
    if (endedAt > deadline) return { rows, rest: from };
    // As many plants as the last range suggests for rangeMs, but at most four times as many as before.
    const fitting = Math.ceil((rangePlants * rangeMs) / Math.max(endedAt - startedAt, rangeMs / 4));
    rangePlants = Math.min(rangePlantsMax, fitting);
  }
  return { rows, rest: undefined };
}

/** Summaries of the stored plants with these ids, in the order of the ids. */
export async function findSummaries(queries: PlantQueries, ids: readonly bigint[]): Promise<PlantSummary[]> {
  const plants = await queries.byIds(ids);
  const byId = new Map(plants.map((plant) => [plant.id, toSummary(plant)]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The plant without its position. */
function toSummary({ cursor: _, ...summary }: PlantAtCursor): PlantSummary {
  return summary;
}

/** An entry of the index "newest": the number of a create, and its time. */
export interface CreationEntry {
  readonly number: bigint;
  /** Null in entries of earlier versions. */
  readonly createdAt: number | null;
}

/** The queries by which createdSince searches. */
export interface CreationQueries {
  /** The first entry with at least this number; without one the last of all. */
  entryFrom(number: bigint | undefined): Promise<CreationEntry | undefined>;
}

/**
 * How many entries of the index "newest" are from each of some times on: a binary search, as entries have no index by time. As
 * creates of one batch have one time, and clocks may be set back, some entries may be counted to the wrong side.
 */
export async function countCreatedSince(
  queries: CreationQueries,
  times: readonly number[],
): Promise<number[]> {
  const last = await queries.entryFrom(undefined);
  const first = await queries.entryFrom(0n);
  if (last === undefined || first === undefined) return times.map(() => 0);
  const counts: number[] = [];
  for (const time of times) {
    let [low, high] = [first.number, last.number + 1n];
    while (low < high) {
      const middle = (low + high) / 2n;
      const entry = await queries.entryFrom(middle);
      if (entry === undefined || (entry.createdAt ?? 0) >= time) high = middle;
      else low = entry.number + 1n;
    }
    counts.push(Number(last.number + 1n - low));
  }
  return counts;
}

/** A part of plants that were grouped by their tags. */
export function toCountedPart(
  groups: readonly { readonly tag: string | null; readonly plants: number; readonly last: bigint }[],
): CountedPart {
  let plants = 0;
  let lastId: bigint | undefined;
  const tags: [string, number][] = [];
  for (const group of groups) {
    plants += group.plants;
    if (lastId === undefined || group.last > lastId) lastId = group.last;
    if (group.tag !== null) tags.push([group.tag, group.plants]);
  }
  return { plants, lastId, tags };
}
