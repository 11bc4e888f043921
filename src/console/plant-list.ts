// The lists of the console: plants in an order, or those of a search, page by page, as SQL of both
// dialects. A search without the index, or for what very many plants have, scans one range of ids
// after the other for a limited time.

import { fieldNames, type PlantColumns, textFields, toFieldValue, typeOf } from "../core/contract/fields.ts";
import { parseInt64 } from "../core/contract/int64.ts";
import { OperatorError } from "../core/operator-error.ts";
import { type SqlConnection, SqlTimeout, type SqlValue } from "../core/store/sql-connection.ts";
import { searchIndexState } from "./search-index.ts";
import {
  hasIndexedText,
  isAscii,
  isIndexedWord,
  phrases,
  planRareParts,
  planWholeText,
  type TextFilter,
} from "./text-match.ts";

/**
 * Plants with the same name, tag or time are ordered by id. `tag` and `created` list only plants
 * that have one.
 */
export const orders = ["id", "name", "tag", "created"] as const;
export type Order = (typeof orders)[number];

/** Plants are ordered by so many characters of names and tags. */
export const orderedCharacters = 100;

/** Longer texts are truncated to this many characters in a list. */
const previewLength = 300;

/** Which plants to list: those that match all that is given. */
export interface Filter extends TextFilter {
  /** The lowest and the highest id. */
  readonly ids?: readonly [min: bigint, max: bigint] | undefined;
  /** The name of the token, or of the identity provider's subject, that created the plant. */
  readonly creator?: string | undefined;
  /** When the plant was created, in milliseconds since the epoch; the end is not included. */
  readonly created?: readonly [from: number, end: number] | undefined;
}

/** Which plants to list, in which order, and where the page begins. */
export interface Search extends Filter {
  /**
   * The order of all plants. Those that are searched for come by id, or by creation if only its
   * time is given.
   */
  readonly order: Order;
  readonly isDescending: boolean;
  /** Where the previous page ended or, for a page backward, the next one begins. */
  readonly cursor: Cursor | undefined;
  /** Whether the page ends at the cursor, and does not begin there. */
  readonly isBackward: boolean;
  readonly plantsMax: number;
}

/** A position next to a plant of an order. */
export interface Cursor {
  readonly order: Order;
  readonly id: bigint;
  /** The key by which the plant is ordered before its id. */
  readonly key?: string;
}

export type PlantSummary = PlantColumns & {
  readonly id: bigint;
  readonly isTruncated: boolean;
  /** RFC 3339; null for plants that were stored before it was recorded. */
  readonly createdAt: string | null;
  /**
   * The name of the token or of an identity provider's subject; null for an import, an operator,
   * and where it was not recorded.
   */
  readonly token: string | null;
};

export interface Page {
  readonly plants: readonly PlantSummary[];
  readonly order: Order;
  readonly isDescending: boolean;
  /** Where the pages before and after this one end and begin; undefined if there are none. */
  readonly previous: Cursor | undefined;
  readonly next: Cursor | undefined;
  /** The last id that was searched, if the search ended at its time limit. */
  readonly searchedTo: bigint | undefined;
  /** Whether the first plant is there because the search is its id. */
  readonly hasPlantWithId: boolean;
  /** Whether the search index was ready. */
  readonly isIndexed: boolean;
}

type MatchingPage = Omit<Page, "hasPlantWithId" | "isIndexed">;

const emptyPage: MatchingPage = {
  plants: [],
  order: "id",
  isDescending: true,
  previous: undefined,
  next: undefined,
  searchedTo: undefined,
};

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;

/** The time limit of a search; the next page continues where it ended. */
const searchMsMax = 800;

/**
 * How long plants are scanned for a text that the index would also find: a scan finds one that many
 * plants have sooner.
 */
const commonTextMsMax = 60;

/**
 * The time limit of the index of PostgreSQL, which finds all plants with each trigram of the text
 * before the first is known.
 */
const postgresTextMsMax = 700;

/**
 * How long one statement of a scan should take: a read transaction keeps SQLite from restarting the
 * WAL.
 */
const rangeMs = 20;
const rangePlantsFirst = 1_000;
const rangePlantsMax = 1_000_000;

/** The time limit for sorting all plants by name or tag. */
const sortMsMax = 3_000;

/** The differences between the dialects. */
const dialects = {
  sqlite: {
    collation: "",
    fence: "",
    contains: (column: string, pattern: string) => `${column} LIKE ${pattern} ESCAPE '\\'`,
  },
  postgres: {
    // The order of code points, whatever that of the database.
    collation: ' COLLATE "C"',
    // The planner, which expects few matches, would otherwise choose the index of the search.
    fence: "OFFSET 0",
    contains: (column: string, pattern: string) => `${column} ILIKE ${pattern}`,
  },
} as const;

/** A plant that was found. */
interface Found {
  readonly id: bigint;
  readonly key?: string;
}

/** A read. Its direction is the opposite of the order's for a page backward. */
interface Reading {
  readonly sql: SqlConnection;
  /** Whether the search index finds some of the filter's text. */
  readonly hasIndex: boolean;
  readonly filter: Filter & { readonly creators?: readonly bigint[] | undefined };
  readonly after: Cursor | undefined;
  readonly isDescending: boolean;
  /** One more than the page has. */
  readonly plantsMax: number;
}

/**
 * The plants that were found, and with which id the rest begins if the time limit has ended the
 * search.
 */
interface Findings {
  readonly found: readonly Found[];
  readonly rest?: bigint | undefined;
}

/**
 * Lists one page. The plant whose id is the only word of a search comes before those that have the
 * word. Rejects with an OperatorError, also if the plants cannot be sorted in time.
 */
export async function listPlants(sql: SqlConnection, search: Search): Promise<Page> {
  const isIndexed = (await searchIndexState(sql)) === "ready";
  const withId = await findPlantWithId(sql, search);
  // Without the index an id is not worth a scan of all plants for its digits.
  const isAlone = withId !== undefined && !isIndexed;
  const page = isAlone ? emptyPage : await listMatching(sql, search, isIndexed);
  const first = page.previous === undefined && withId !== undefined ? [withId] : [];
  const others = page.plants.filter(({ id }) => id !== withId?.id);
  return { ...page, plants: [...first, ...others], hasPlantWithId: first.length > 0, isIndexed };
}

async function findPlantWithId(sql: SqlConnection, filter: Filter): Promise<PlantSummary | undefined> {
  const [word = "", ...others] = filter.words;
  const isOnly = others.length === 0 && !isSearch({ ...filter, words: [] });
  const id = isOnly ? parseInt64(word) : undefined;
  return id === undefined ? undefined : (await summaries(sql, [id]))[0];
}

async function listMatching(sql: SqlConnection, search: Search, isIndexed: boolean): Promise<MatchingPage> {
  const filter = await withCreatorIds(sql, search);
  const { created } = filter;
  const isOnlyTime = created !== undefined && !isSearch({ ...search, created: undefined });
  const order = isOnlyTime ? "created" : isSearch(search) ? "id" : search.order;
  // A cursor of another order has no position in this one: the list starts over.
  const cursor = search.cursor?.order === order ? search.cursor : undefined;
  const isBackward = search.isBackward && cursor !== undefined;
  const isDescendingPage = order === search.order ? search.isDescending : true;
  const isDescending = isDescendingPage !== isBackward;
  const reading = {
    sql,
    hasIndex: isIndexed && hasIndexedText(filter),
    filter,
    after: cursor,
    isDescending,
    plantsMax: search.plantsMax + 1,
  };
  const { found, rest } =
    isSearch(search) && !isOnlyTime ? await readMatches(reading) : await readAll(reading, order);
  const searchedTo = rest === undefined ? undefined : adjacentId(rest, !isDescending);
  const hasMore = found.length > search.plantsMax || searchedTo !== undefined;
  // A page that begins before the first plant: the first one instead, which is full.
  if (isBackward && !hasMore)
    return listMatching(sql, { ...search, cursor: undefined, isBackward: false }, isIndexed);
  const onPage = found.slice(0, search.plantsMax);
  const last = onPage.at(-1);
  const further = searchedTo === undefined ? last && { ...last, order } : { order, id: searchedTo };
  const end = hasMore ? further : undefined;
  const [first] = onPage;
  const start = cursor && (first === undefined ? reverseCursor(cursor, isDescending) : { ...first, order });
  const plants = await summaries(
    sql,
    onPage.map(({ id }) => id),
  );
  return {
    plants: isBackward ? plants.toReversed() : plants,
    order,
    isDescending: isDescendingPage,
    previous: isBackward ? end : start,
    next: isBackward ? start : end,
    searchedTo,
  };
}

/** Whether a filter leaves plants out. */
export function isSearch({ words, tag, ids, creator, created }: Filter): boolean {
  return words.length > 0 || [tag, ids, creator, created].some((each) => each !== undefined);
}

async function withCreatorIds(sql: SqlConnection, filter: Filter): Promise<Reading["filter"]> {
  if (filter.creator === undefined) return filter;
  const rows = await sql.query<{ id: bigint }>("SELECT id FROM creators WHERE name = $1", [filter.creator]);
  return { ...filter, creators: rows.map(({ id }) => id) };
}

/**
 * A position as seen from the other side: a page that is read from there in the other direction
 * includes the plant next to it.
 */
function reverseCursor(cursor: Cursor, isDescending: boolean): Cursor | undefined {
  const id = adjacentId(cursor.id, isDescending);
  return id === undefined ? undefined : { ...cursor, id };
}

/** All plants in an order, or those of a time by creation. */
async function readAll(
  { sql, filter, after, isDescending, plantsMax }: Reading,
  order: Order,
): Promise<Findings> {
  const { collation } = dialects[sql.dialect];
  const { passed, direction } = directionOf(isDescending);
  if (order === "id") {
    const where = after === undefined ? "" : `WHERE id ${passed} $2`;
    const parameters = [plantsMax, ...(after === undefined ? [] : [after.id])];
    return {
      found: await sql.query(`SELECT id FROM plants ${where} ORDER BY id ${direction} LIMIT $1`, parameters),
    };
  }
  const isTime = order === "created";
  const key = isTime ? "created_at" : `substr(${order}, 1, ${orderedCharacters})${collation}`;
  const afterKey = isTime ? BigInt(after?.key ?? 0) : (after?.key ?? "");
  // A comparison of row values would not be a range of the index by time on every engine.
  const past =
    after === undefined ? "" : `AND ${key} ${passed}= $2 AND (${key} ${passed} $2 OR id ${passed} $3)`;
  const parameters: SqlValue[] = [plantsMax, ...(after === undefined ? [] : [afterKey, after.id])];
  const ofTime = matching(sql, filter, parameters);
  const sorting = sql.query<{ id: bigint; sort_key: string | bigint }>(
    `SELECT id, ${key} AS sort_key FROM plants
     WHERE ${isTime ? "" : `${sql.inTime} AND `}${isTime ? "created_at" : order} IS NOT NULL ${ofTime} ${past}
     ORDER BY ${key} ${direction}, id ${direction} LIMIT $1`,
    parameters,
    sortMsMax,
  );
  const rows = await sorting.catch((error) => {
    if (!(error instanceof SqlTimeout)) throw error;
    throw new OperatorError(
      `Sorting by ${order} takes more than ${sortMsMax / 1_000} seconds in this store. Search, or sort by id or creation.`,
    );
  });
  return { found: rows.map(({ id, sort_key }) => ({ id, key: String(sort_key) })) };
}

async function readMatches(reading: Reading): Promise<Findings> {
  const { filter } = reading;
  const first = firstId(reading);
  if (first === undefined || filter.creators?.length === 0) return { found: [] };
  const deadline = performance.now() + searchMsMax;
  if (!reading.hasIndex) return scan(reading, first, deadline);
  const isSqlite = reading.sql.dialect === "sqlite";
  const rareParts = isSqlite ? await planRareParts(reading.sql, filter) : undefined;
  if (rareParts !== undefined) return { found: await readFts5(reading, first, rareParts) };
  const scanned = await scan(reading, first, performance.now() + commonTextMsMax);
  if (scanned.rest === undefined) return scanned;
  const others = { ...reading, plantsMax: reading.plantsMax - scanned.found.length };
  const whole = isSqlite ? await planWholeText(reading.sql, filter) : undefined;
  const found = !isSqlite
    ? await readPgTrgm(others, scanned.rest)
    : whole !== undefined
      ? await readFts5(others, scanned.rest, whole)
      : undefined;
  if (found !== undefined) return { found: [...scanned.found, ...found] };
  const further = await scan(others, scanned.rest, deadline);
  return { ...further, found: [...scanned.found, ...further.found] };
}

/** The plants that match a filter among those that a query of FTS5 finds. */
function readFts5(reading: Reading, from: bigint, match: string): Promise<Found[]> {
  const { sql, filter, plantsMax } = reading;
  const { direction } = directionOf(reading.isDescending);
  const parameters: SqlValue[] = [match, ...idsFrom(reading, from), plantsMax];
  const conditions = matching(sql, withoutFoldedWords(filter), parameters);
  return sql.query(
    `SELECT plants.id AS id FROM plants_text CROSS JOIN plants ON plants.id = plants_text.rowid
     WHERE ${sql.inTime} AND plants_text MATCH $1 AND plants_text.rowid BETWEEN $2 AND $3 ${conditions}
     ORDER BY plants_text.rowid ${direction} LIMIT $4`,
    parameters,
  );
}

/** Undefined if very many plants have each trigram of the text. */
async function readPgTrgm(reading: Reading, from: bigint): Promise<Found[] | undefined> {
  const { sql, filter, plantsMax } = reading;
  const { direction } = directionOf(reading.isDescending);
  const parameters: SqlValue[] = [...idsFrom(reading, from), plantsMax];
  const conditions = matching(sql, filter, parameters);
  const statements = [
    { sql: "SET LOCAL enable_seqscan = off" },
    { sql: "SET LOCAL enable_indexscan = off" },
    {
      sql: `WITH found AS MATERIALIZED (SELECT id FROM plants WHERE true ${conditions})
            SELECT id FROM found WHERE id BETWEEN $1 AND $2 ORDER BY id ${direction} LIMIT $3`,
      parameters,
    },
  ];
  return sql.transaction<Found>(statements, postgresTextMsMax).catch((error) => {
    if (error instanceof SqlTimeout) return undefined;
    throw error;
  });
}

/** Scans until the page is full, no plant is left, or the time is over. */
async function scan(reading: Reading, first: bigint, deadline: number): Promise<Findings> {
  const { sql, hasIndex, filter, isDescending, plantsMax } = reading;
  const { direction, last } = directionOf(isDescending);
  const { fence } = dialects[sql.dialect];
  const folded = hasIndex && sql.dialect === "sqlite" ? filter.words.filter(isFoldedByFts5) : [];
  const found: Found[] = [];
  let rangePlants = rangePlantsFirst;
  for (let from: bigint | undefined = first; from !== undefined; ) {
    const startedAt = performance.now();
    const [range] = await sql.query<{ last: bigint | null }>(
      `SELECT ${last}(id) AS last
       FROM (SELECT id FROM plants WHERE id BETWEEN $1 AND $2 ORDER BY id ${direction} LIMIT $3) AS range`,
      [...idsFrom(reading, from), rangePlants],
    );
    const end: bigint | undefined = range?.last ?? undefined;
    if (end === undefined) return { found };
    const [min, max] = isDescending ? [end, from] : [from, end];
    const parameters: SqlValue[] = [min, max, plantsMax - found.length];
    const conditions =
      folded.length > 0
        ? `${matching(sql, withoutFoldedWords(filter), parameters)} AND id IN (
           SELECT rowid FROM plants_text WHERE plants_text MATCH $${parameters.push(phrases(folded))} AND rowid BETWEEN $1 AND $2)`
        : matching(sql, filter, parameters);
    found.push(
      ...(await sql.query<Found>(
        `SELECT id FROM (SELECT id, ${textFields.join(", ")}, created_at, creator FROM plants WHERE id BETWEEN $1 AND $2 ORDER BY id ${direction} ${fence}) AS plants
         WHERE ${sql.inTime} ${conditions} ORDER BY id ${direction} LIMIT $3`,
        parameters,
      )),
    );
    if (found.length >= plantsMax) return { found };
    const endedAt = performance.now();
    from = adjacentId(end, isDescending);
    if (endedAt > deadline) return { found, rest: from };
    // As many plants as the last range suggests for rangeMs, but at most four times as many as
    // before.
    const fitting = Math.ceil((rangePlants * rangeMs) / Math.max(endedAt - startedAt, rangeMs / 4));
    rangePlants = Math.min(rangePlantsMax, fitting);
  }
  return { found };
}

/** Whether FTS5 compares a word itself: it folds the case of characters that LIKE does not. */
function isFoldedByFts5(word: string): boolean {
  return !isAscii(word) && isIndexedWord(word);
}

function withoutFoldedWords<One extends Filter>(filter: One): One {
  return { ...filter, words: filter.words.filter((word) => !isFoldedByFts5(word)) };
}

/** The conditions that a plant matches a filter except for its id, each after an AND. */
function matching(
  sql: SqlConnection,
  { words, tag, creators, created }: Reading["filter"],
  parameters: SqlValue[],
): string {
  const { contains } = dialects[sql.dialect];
  const parameter = (value: SqlValue) => `$${parameters.push(value)}`;
  const conditions: string[] = [];
  if (tag === null) conditions.push("plants.tag IS NULL");
  else if (tag !== undefined) conditions.push(`plants.tag = ${parameter(tag)}`);
  if (creators !== undefined)
    conditions.push(`plants.creator IN (${creators.map((creator) => parameter(creator)).join(", ")})`);
  if (created !== undefined) {
    const [from, end] = created;
    conditions.push(`plants.created_at >= ${parameter(BigInt(from))}`);
    conditions.push(`plants.created_at < ${parameter(BigInt(end))}`);
  }
  for (const word of words) {
    const pattern = parameter(`%${word.replaceAll(/[\\%_]/g, "\\$&")}%`);
    const columns = textFields.map((field) => contains(`plants.${field}`, pattern));
    conditions.push(`(${columns.join(" OR ")})`);
  }
  return conditions.map((condition) => `AND ${condition}`).join(" ");
}

/** The lowest and the highest id that are left to read. */
function idsFrom({ filter, isDescending }: Reading, from: bigint): [min: bigint, max: bigint] {
  const [min, max] = filter.ids ?? [int64Min, int64Max];
  return isDescending ? [min, from] : [from, max];
}

/** The first id after the cursor in the direction of reading; undefined if none is left. */
function firstId({ filter, after, isDescending }: Reading): bigint | undefined {
  const [min, max] = filter.ids ?? [int64Min, int64Max];
  if (after === undefined) return isDescending ? max : min;
  return adjacentId(after.id, isDescending);
}

function adjacentId(id: bigint, isDescending: boolean): bigint | undefined {
  if (id === (isDescending ? int64Min : int64Max)) return undefined;
  return isDescending ? id - 1n : id + 1n;
}

/** The operators and words of a direction. */
function directionOf(isDescending: boolean) {
  return isDescending
    ? ({ passed: "<", direction: "DESC", last: "min" } as const)
    : ({ passed: ">", direction: "ASC", last: "max" } as const);
}

type PlantRow = PlantColumns & {
  readonly id: bigint;
  readonly is_truncated: bigint;
  readonly created_at: bigint | null;
  readonly token: string | null;
};

const complete = fieldNames.map((field) => `plants.${field}`).join(", ");
const previews = fieldNames
  .map((field) =>
    typeOf(field) === "text" ? `substr(plants.${field}, 1, ${previewLength}) AS ${field}` : `plants.${field}`,
  )
  .join(", ");
const isLong = textFields.map((field) => `length(plants.${field}) > ${previewLength}`).join(" OR ");

/** The stored plants with these ids, in the order of the ids. */
async function summaries(sql: SqlConnection, ids: readonly bigint[]): Promise<PlantSummary[]> {
  if (ids.length === 0) return [];
  const columns = `${previews}, CASE WHEN ${isLong} THEN 1 ELSE 0 END AS is_truncated`;
  const plants = await readPlants(sql, columns, ids);
  const byId = new Map(plants.map((plant) => [plant.id, plant]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** One plant with its complete texts. */
export async function findPlant(sql: SqlConnection, id: bigint): Promise<PlantSummary | undefined> {
  return (await readPlants(sql, `${complete}, 0 AS is_truncated`, [id]))[0];
}

async function readPlants(
  sql: SqlConnection,
  columns: string,
  ids: readonly bigint[],
): Promise<PlantSummary[]> {
  const rows = await sql.query<PlantRow>(
    `SELECT plants.id, ${columns}, created_at, creators.name AS token
     FROM plants LEFT JOIN creators ON creators.id = creator
     WHERE plants.id IN (${ids.map((_, index) => `$${index + 1}`).join(", ")})`,
    ids,
  );
  return rows.map(({ id, is_truncated, created_at, token, ...fields }) => ({
    id,
    ...toTyped(fields),
    isTruncated: is_truncated === 1n,
    createdAt: created_at === null ? null : new Date(Number(created_at)).toISOString(),
    token,
  }));
}

/** Normalizes the values of engines: SQLite has bigint instead of numbers and booleans. */
function toTyped(columns: PlantColumns): PlantColumns {
  const typed = fieldNames.map((field) => {
    const value = columns[field];
    return [field, value === null ? null : toFieldValue(field, value)] as const;
  });
  return Object.fromEntries(typed) as PlantColumns;
}
