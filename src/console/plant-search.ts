// The plants of a search, as SQL of both dialects. Without the index, or for what very many plants
// have, it scans one range of ids after the other for a limited time.

import { textFields } from "../core/contract/fields.ts";
import { type SqlConnection, SqlTimeout, type SqlValue } from "../core/store/sql-connection.ts";
import {
  hasIndexedText,
  isAscii,
  isIndexedWord,
  phrases,
  planRareParts,
  planWholeText,
  type TextFilter,
} from "./text-match.ts";

/** Which plants to list: those that match all that is given. */
export interface Filter extends TextFilter {
  /** The lowest and the highest id. */
  readonly ids?: readonly [min: bigint, max: bigint] | undefined;
  /** The name of the token, or of the identity provider's subject, that created the plant. */
  readonly creator?: string | undefined;
  /** When the plant was created, in milliseconds since the epoch; the end is not included. */
  readonly created?: readonly [from: number, end: number] | undefined;
}

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

/** The differences between the dialects. */
const dialects = {
  sqlite: {
    fence: "",
    contains: (column: string, pattern: string) => `${column} LIKE ${pattern} ESCAPE '\\'`,
  },
  postgres: {
    // The planner, which expects few matches, would otherwise choose the index of the search.
    fence: "OFFSET 0",
    contains: (column: string, pattern: string) => `${column} ILIKE ${pattern}`,
  },
} as const;

/** The place of a plant in an order. */
export interface Place {
  readonly id: bigint;
  /** The key by which the plant is ordered before its id. */
  readonly key?: string;
}

/** A read. Its direction is the opposite of the order's for a page backward. */
export interface Reading {
  readonly sql: SqlConnection;
  readonly filter: Filter;
  readonly after: Place | undefined;
  readonly isDescending: boolean;
  /** One more than the page has. */
  readonly plantsMax: number;
}

export interface Findings {
  readonly found: readonly Place[];
  /** The last id that was searched, if the time limit has ended the search. */
  readonly searchedTo?: bigint | undefined;
}

/** The read of a search. */
interface Searching extends Reading {
  readonly filter: Filter & { readonly creators?: readonly bigint[] };
  /** Whether the search index finds some of the filter's text. */
  readonly hasIndex: boolean;
}

/** Whether a filter leaves plants out. */
export function isSearch({ words, tag, ids, creator, created }: Filter): boolean {
  return words.length > 0 || [tag, ids, creator, created].some((each) => each !== undefined);
}

/** Finds plants by id. @param isIndexed whether the search index is ready. */
export async function searchPlants(given: Reading, isIndexed: boolean): Promise<Findings> {
  const { sql, plantsMax } = given;
  const filter = await withCreatorIds(sql, given.filter);
  const reading: Searching = { ...given, filter, hasIndex: isIndexed && hasIndexedText(filter) };
  if (filter.creators?.length === 0) return { found: [] };
  const deadline = performance.now() + searchMsMax;
  if (!reading.hasIndex) return scan(reading, deadline);
  const isSqlite = sql.dialect === "sqlite";
  const rareParts = isSqlite ? await planRareParts(sql, filter) : undefined;
  if (rareParts !== undefined) return { found: await readFts5(reading, rareParts) };
  const scanned = await scan(reading, performance.now() + commonTextMsMax);
  if (scanned.searchedTo === undefined) return scanned;
  const others = {
    ...reading,
    after: { id: scanned.searchedTo },
    plantsMax: plantsMax - scanned.found.length,
  };
  const whole = isSqlite ? await planWholeText(sql, filter) : undefined;
  const found = !isSqlite
    ? await readPgTrgm(others)
    : whole !== undefined
      ? await readFts5(others, whole)
      : undefined;
  if (found !== undefined) return { found: [...scanned.found, ...found] };
  const further = await scan(others, deadline);
  return { ...further, found: [...scanned.found, ...further.found] };
}

async function withCreatorIds(sql: SqlConnection, filter: Filter): Promise<Searching["filter"]> {
  if (filter.creator === undefined) return filter;
  const rows = await sql.query<{ id: bigint }>("SELECT id FROM creators WHERE name = $1", [filter.creator]);
  return { ...filter, creators: rows.map(({ id }) => id) };
}

/** The plants that match a filter among those that a query of FTS5 finds. */
function readFts5(reading: Searching, match: string): Promise<Place[]> {
  const { sql, filter, plantsMax } = reading;
  const { direction } = directionOf(reading.isDescending);
  const parameters: SqlValue[] = [match, ...idsLeft(reading), plantsMax];
  const conditions = conditionsOf(sql, withoutFoldedWords(filter), parameters);
  return sql.query(
    `SELECT plants.id AS id FROM plants_text CROSS JOIN plants ON plants.id = plants_text.rowid
     WHERE ${sql.inTime} AND plants_text MATCH $1 AND plants_text.rowid BETWEEN $2 AND $3 ${conditions}
     ORDER BY plants_text.rowid ${direction} LIMIT $4`,
    parameters,
  );
}

/** Undefined if very many plants have each trigram of the text. */
async function readPgTrgm(reading: Searching): Promise<Place[] | undefined> {
  const { sql, filter, plantsMax } = reading;
  const { direction } = directionOf(reading.isDescending);
  const parameters: SqlValue[] = [...idsLeft(reading), plantsMax];
  const conditions = conditionsOf(sql, filter, parameters);
  const statements = [
    { sql: "SET LOCAL enable_seqscan = off" },
    { sql: "SET LOCAL enable_indexscan = off" },
    {
      sql: `WITH found AS MATERIALIZED (SELECT id FROM plants WHERE true ${conditions})
            SELECT id FROM found WHERE id BETWEEN $1 AND $2 ORDER BY id ${direction} LIMIT $3`,
      parameters,
    },
  ];
  return sql.transaction<Place>(statements, postgresTextMsMax).catch((error) => {
    if (error instanceof SqlTimeout) return undefined;
    throw error;
  });
}

/** Scans until the page is full, no plant is left, or the time is over. */
async function scan(reading: Searching, deadline: number): Promise<Findings> {
  const { sql, hasIndex, filter, isDescending, plantsMax } = reading;
  const { direction, last } = directionOf(isDescending);
  const { fence } = dialects[sql.dialect];
  const folded = hasIndex && sql.dialect === "sqlite" ? filter.words.filter(isFoldedByFts5) : [];
  const found: Place[] = [];
  let rangePlants = rangePlantsFirst;
  for (let searchedTo: bigint | undefined; ; ) {
    const startedAt = performance.now();
    const after = searchedTo === undefined ? reading.after : { id: searchedTo };
    const [min, max] = idsLeft({ ...reading, after });
    const [range] = await sql.query<{ last: bigint | null }>(
      `SELECT ${last}(id) AS last
       FROM (SELECT id FROM plants WHERE id BETWEEN $1 AND $2 ORDER BY id ${direction} LIMIT $3) AS range`,
      [min, max, rangePlants],
    );
    const end: bigint | undefined = range?.last ?? undefined;
    if (end === undefined) return { found };
    if (searchedTo !== undefined && startedAt > deadline) return { found, searchedTo };
    const parameters: SqlValue[] = [
      isDescending ? end : min,
      isDescending ? max : end,
      plantsMax - found.length,
    ];
    const conditions =
      folded.length > 0
        ? `${conditionsOf(sql, withoutFoldedWords(filter), parameters)} AND id IN (
           SELECT rowid FROM plants_text WHERE plants_text MATCH $${parameters.push(phrases(folded))} AND rowid BETWEEN $1 AND $2)`
        : conditionsOf(sql, filter, parameters);
    found.push(
      ...(await sql.query<Place>(
        `SELECT id FROM (SELECT id, ${textFields.join(", ")}, created_at, creator FROM plants WHERE id BETWEEN $1 AND $2 ORDER BY id ${direction} ${fence}) AS plants
         WHERE ${sql.inTime} ${conditions} ORDER BY id ${direction} LIMIT $3`,
        parameters,
      )),
    );
    if (found.length >= plantsMax) return { found };
    searchedTo = end;
    // As many plants as the last range suggests for rangeMs, but at most four times as many as
    // before.
    const tookMs = Math.max(performance.now() - startedAt, rangeMs / 4);
    rangePlants = Math.min(rangePlantsMax, Math.ceil((rangePlants * rangeMs) / tookMs));
  }
}

/** Whether FTS5 compares a word itself: it folds the case of characters that LIKE does not. */
function isFoldedByFts5(word: string): boolean {
  return !isAscii(word) && isIndexedWord(word);
}

function withoutFoldedWords<One extends Filter>(filter: One): One {
  return { ...filter, words: filter.words.filter((word) => !isFoldedByFts5(word)) };
}

/** The conditions that a plant matches a filter except for its id, each after an AND. */
function conditionsOf(
  sql: SqlConnection,
  { words, tag, creators, created }: Searching["filter"],
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

/** The lowest and the highest id that are left to read; none is between them at the end. */
function idsLeft({ filter, after, isDescending }: Reading): readonly [min: bigint, max: bigint] {
  const [min, max] = filter.ids ?? [int64Min, int64Max];
  if (after === undefined) return [min, max];
  const next = adjacentId(after.id, isDescending);
  if (next === undefined) return [1n, 0n];
  return isDescending ? [min, next] : [next, max];
}

/** The id before or after another one; undefined if there is none. */
export function adjacentId(id: bigint, isDescending: boolean): bigint | undefined {
  if (id === (isDescending ? int64Min : int64Max)) return undefined;
  return isDescending ? id - 1n : id + 1n;
}

/** The operators and words of a direction. */
export function directionOf(isDescending: boolean) {
  return isDescending
    ? ({ passed: "<", direction: "DESC", last: "min" } as const)
    : ({ passed: ">", direction: "ASC", last: "max" } as const);
}
