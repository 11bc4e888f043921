// The lists of the console: plants in an order, or those of a search, page by page.

import { parseInt64 } from "../core/contract/int64.ts";
import { OperatorError } from "../core/operator-error.ts";
import { type SqlConnection, SqlTimeout, type SqlValue } from "../core/store/sql-connection.ts";
import type { Order } from "./orders.ts";
import { type PlantSummary, summaries } from "./plant-rows.ts";
import {
  adjacentId,
  directionOf,
  type Filter,
  type Findings,
  isSearch,
  type Place,
  type Reading,
  searchPlants,
} from "./plant-search.ts";

/** Plants are ordered by so many characters of their texts. */
export const orderedCharacters = 100;

/** Which plants to list, in which order, and where the page begins. */
export interface Search extends Filter {
  /** The order of all plants; those that are searched for come by id. */
  readonly order: Order;
  readonly isDescending: boolean;
  /** Where the previous page ended or, for a page backward, the next one begins. */
  readonly cursor: Cursor | undefined;
  /** Whether the page ends at the cursor, and does not begin there. */
  readonly isBackward: boolean;
  readonly plantsMax: number;
}

/** A position next to a plant of an order. */
export interface Cursor extends Place {
  readonly order: Order;
}

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
}

type MatchingPage = Omit<Page, "hasPlantWithId">;

const emptyPage: MatchingPage = {
  plants: [],
  order: "id",
  isDescending: true,
  previous: undefined,
  next: undefined,
  searchedTo: undefined,
};

/** The time limit for sorting all plants in another order than that of ids. */
const sortMsMax = 3_000;

/**
 * Lists one page. The plant whose id is the only word of a search is listed alone. Rejects with an
 * OperatorError, also if the plants cannot be sorted in time.
 */
export async function listPlants(sql: SqlConnection, search: Search): Promise<Page> {
  const withId = await findPlantWithId(sql, search);
  if (withId !== undefined) return { ...emptyPage, plants: [withId], hasPlantWithId: true };
  return { ...(await listMatching(sql, search)), hasPlantWithId: false };
}

async function findPlantWithId(sql: SqlConnection, filter: Filter): Promise<PlantSummary | undefined> {
  const [word = "", ...others] = filter.words;
  const isOnly = others.length === 0 && !isSearch({ ...filter, words: [] });
  const id = isOnly ? parseInt64(word) : undefined;
  return id === undefined ? undefined : (await summaries(sql, [id]))[0];
}

async function listMatching(sql: SqlConnection, search: Search): Promise<MatchingPage> {
  const order = isSearch(search) ? "id" : search.order;
  // A cursor of another order has no position in this one: the list starts over.
  const cursor = search.cursor?.order === order ? search.cursor : undefined;
  const isBackward = search.isBackward && cursor !== undefined;
  const isDescendingPage = order === search.order ? search.isDescending : true;
  const isDescending = isDescendingPage !== isBackward;
  const reading = { sql, filter: search, after: cursor, isDescending, plantsMax: search.plantsMax + 1 };
  const { found, searchedTo } = isSearch(search)
    ? await searchPlants(reading)
    : await readAll(reading, order);
  const hasMore = found.length > search.plantsMax || searchedTo !== undefined;
  // A page that begins before the first plant: the first one instead, which is full.
  if (isBackward && !hasMore) return listMatching(sql, { ...search, cursor: undefined, isBackward: false });
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

/**
 * A position as seen from the other side: a page that is read from there in the other direction
 * includes the plant next to it.
 */
function reverseCursor(cursor: Cursor, isDescending: boolean): Cursor | undefined {
  const id = adjacentId(cursor.id, isDescending);
  return id === undefined ? undefined : { ...cursor, id };
}

/** All plants in an order. */
async function readAll({ sql, after, isDescending, plantsMax }: Reading, order: Order): Promise<Findings> {
  // The order of code points, whatever that of the database.
  const collation = sql.dialect === "postgres" ? ' COLLATE "C"' : "";
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
  const past = after === undefined ? "" : `AND (${key}, id) ${passed} ($2, $3)`;
  const parameters: SqlValue[] = [plantsMax, ...(after === undefined ? [] : [afterKey, after.id])];
  const sorting = sql.query<{ id: bigint; sort_key: string | bigint }>(
    `SELECT id, ${key} AS sort_key FROM plants
     WHERE ${sql.inTime} AND ${key} IS NOT NULL ${past}
     ORDER BY ${key} ${direction}, id ${direction} LIMIT $1`,
    parameters,
    sortMsMax,
  );
  const rows = await sorting.catch((error) => {
    if (!(error instanceof SqlTimeout)) throw error;
    throw new OperatorError(
      `Sorting in this order takes more than ${sortMsMax / 1_000} seconds in this store. Search, or sort by id.`,
    );
  });
  return { found: rows.map(({ id, sort_key }) => ({ id, key: String(sort_key) })) };
}
