// The plants of a search, as SQL of both dialects. It scans one range of ids after the other for a
// limited time.

import { groupField, textFields } from "../core/contract/fields.ts";
import type { SqlConnection, SqlValue } from "../core/store/sql-connection.ts";

/** Which plants to list: those that match all that is given. */
export interface Filter {
  /** Each is in one of the text fields. */
  readonly words: readonly string[];
  /** The whole text of the field that groups plants; null for plants without one. */
  readonly group: string | null | undefined;
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
 * How long one statement of a scan should take: a read transaction keeps SQLite from restarting the
 * WAL.
 */
const rangeMs = 20;
const rangePlantsFirst = 1_000;
const rangePlantsMax = 1_000_000;

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
}

/** Whether a filter leaves plants out. */
export function isSearch({ words, group, ids, creator, created }: Filter): boolean {
  return words.length > 0 || [group, ids, creator, created].some((each) => each !== undefined);
}

/** Finds plants by id: scans until the page is full, no plant is left, or the time is over. */
export async function searchPlants(given: Reading): Promise<Findings> {
  const { sql, isDescending, plantsMax } = given;
  const reading: Searching = { ...given, filter: await withCreatorIds(sql, given.filter) };
  if (reading.filter.creators?.length === 0) return { found: [] };
  const deadline = performance.now() + searchMsMax;
  const { direction, last } = directionOf(isDescending);
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
    const conditions = conditionsOf(sql, reading.filter, parameters);
    found.push(
      ...(await sql.query<Place>(
        `SELECT id FROM plants WHERE id BETWEEN $1 AND $2 AND ${sql.inTime} ${conditions}
         ORDER BY id ${direction} LIMIT $3`,
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

async function withCreatorIds(sql: SqlConnection, filter: Filter): Promise<Searching["filter"]> {
  if (filter.creator === undefined) return filter;
  const rows = await sql.query<{ id: bigint }>("SELECT id FROM creators WHERE name = $1", [filter.creator]);
  return { ...filter, creators: rows.map(({ id }) => id) };
}

/** The conditions that a plant matches a filter except for its id, each after an AND. */
function conditionsOf(
  sql: SqlConnection,
  { words, group, creators, created }: Searching["filter"],
  parameters: SqlValue[],
): string {
  // On SQLite LIKE folds the case of ASCII letters.
  const like = sql.dialect === "postgres" ? "ILIKE" : "LIKE";
  const parameter = (value: SqlValue) => `$${parameters.push(value)}`;
  const conditions: string[] = [];
  if (group === null) conditions.push(`${groupField} IS NULL`);
  else if (group !== undefined) conditions.push(`${groupField} = ${parameter(group)}`);
  if (creators !== undefined)
    conditions.push(`creator IN (${creators.map((creator) => parameter(creator)).join(", ")})`);
  if (created !== undefined) {
    const [from, end] = created;
    conditions.push(`created_at >= ${parameter(BigInt(from))}`);
    conditions.push(`created_at < ${parameter(BigInt(end))}`);
  }
  for (const word of words) {
    const pattern = parameter(`%${word.replaceAll(/[\\%_]/g, "\\$&")}%`);
    const columns = textFields.map((field) => `${field} ${like} ${pattern} ESCAPE '\\'`);
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
