// Reads a page of plants in the order of their ids, or in another, and writes its JSON where the rows are: on SQLite
// in the thread that reads, so that no row crosses to the network's. The JSON of a page is limited.

import {
  type Collection,
  type Contract,
  collectionOf,
  type PlantColumns,
  representationOf,
} from "../../contract/contract.ts";
import { itemUrl, responseJson } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlConnection } from "../sql-connection.ts";
import type { FoundPlant, FoundQuery } from "./found-plants.ts";
import { type ListQuery, type ListRest, ListScan } from "./list-scan.ts";
import { type OrderPlace, placeIn } from "./page-order.ts";
import { listedJsonSql } from "./plant-json.ts";
import { plantColumns, type StoredRow, storedColumns, timesOf, toPlant, toStored } from "./plant-rows.ts";
import type { SqlWork } from "./sql-work.ts";

/** The longest text of a number, a boolean or null. */
const scalarBytesMax = 41;

/** The plants before a page that is read in one statement. */
const shortOffsetMax = 10_000;

/** Plants that are counted for each list. */
const shortCountMax = 20_000;

/** Where a page begins, and how long it is at most: plain data. */
export interface PageQuery extends ListQuery {
  /** Its plants. */
  readonly size: number;
  readonly bytesMax: number;
  /** The URL of the list, from which those of its plants follow. */
  readonly url: string;
}

export interface Page {
  /** An array of plants. */
  readonly json: string;
  readonly count: number;
  /** The place after which the next page begins; undefined if there is none. */
  readonly end: OrderPlace | undefined;
  readonly hasMore: boolean;
  /** Whether there are more plants than the requested size. */
  readonly isFull: boolean;
  /** Whether the page has fewer plants than requested because their JSON is too long. */
  readonly isCutShort: boolean;
  /** Where to go on, if its time was up. */
  readonly rest: ListRest | undefined;
}

/** A connection that reads single plants. */
export interface PlantReads extends Pick<SqlConnection, "query">, AsyncDisposable {
  /** Reads single plants, as responses have them, in the order of the query. */
  find(query: FoundQuery): Promise<readonly (FoundPlant | undefined)[]>;

  /** Reads the rows of single plants: see plantsStatement. */
  get(table: string, ids: readonly PlantId[]): Promise<readonly StoredRow[]>;
}

/** Connections of a store, which also write its plants as JSON. */
export interface ReadConnection extends SqlConnection, PlantReads {
  /** How many calls run at the same time; further ones wait. */
  readonly callsMax: number;
  /** How many are sent at the same time where each is short: others wait until they have ended. */
  readonly shortCallsMax: number;

  /** Reads a page. Once `ms` have passed, it has what was found. */
  page(query: PageQuery, ms: number): Promise<Page>;

  /** Counts the plants of a list, or those until `ms` have passed. */
  count(query: ListQuery, ms: number): Promise<ListCount>;
}

/** Plants of a list, and where to go on. */
export interface ListCount {
  readonly count: number;
  readonly rest: ListRest | undefined;
  /** How long it took; 0 where it is short whatever the machine does. */
  readonly ms: number;
}

/** How long one statement of a list may take. */
export const listMsMax = 1_000;

export type Traits = Pick<SqlConnection, "dialect" | "inTime">;

/** See ReadConnection.count. */
export function* countWork(
  contract: Contract,
  traits: Traits,
  list: ListQuery,
  ms: number,
): SqlWork<ListCount> {
  const startedAt = performance.now();
  const scan = new ListScan(collectionOf(contract, list.table), list, traits);
  const counted = yield* scan.count(startedAt + ms);
  const isShort = list.conditions.length === 0 && counted.count < shortCountMax;
  return { ...counted, ms: isShort ? 0 : performance.now() - startedAt };
}

/** A plant of a page: its columns, or its JSON. */
type Row = PlantColumns & { readonly id: PlantId; readonly "x json"?: string | null };

/** The bytes of a row's values, for SQL. */
export function bytesSql({ fields }: Collection): string {
  const texts = fields.filter(({ type }) => type.column.postgres === "text");
  // The size of a text is in the header of its row. Reading the texts took 0.3 ms a megabyte.
  return [
    ...texts.map(({ column }) => `coalesce(octet_length(${column}), 0)`),
    scalarBytesMax * (fields.length - texts.length),
  ].join(" + ");
}

/** See ReadConnection.page. */
export function* pageWork(contract: Contract, traits: Traits, page: PageQuery, ms: number): SqlWork<Page> {
  const deadline = performance.now() + ms;
  const collection = collectionOf(contract, page.table);
  const { after, offset, size, bytesMax, conditions, terms } = page;
  // A page whose texts are short takes one statement, which scans too few plants for a time limit. A
  // filter would look for its plants twice.
  if (conditions.length + terms.length === 0 && offset <= shortOffsetMax) {
    const from = after === undefined ? "" : " AND id > $1";
    const range = (condition: string) =>
      `FROM "${page.table}" WHERE ${condition}${from} ORDER BY id LIMIT ${size + 1} OFFSET ${offset}`;
    const bytes = bytesSql(collection);
    // The plan of an offset is made each time, and takes longer than that of the rows alone.
    const plantJson = offset === 0 ? listedJsonSql(traits.dialect, collection) : undefined;
    const isShort = () =>
      `(SELECT sum(bytes) FROM (SELECT ${bytes} AS bytes ${range("true")}) AS sizes) <= ${bytesMax}`;
    const sql =
      plantJson === undefined
        ? `SELECT ${columnsOf(collection)} ${range(isShort())}`
        : `SELECT id, CASE WHEN ${bytes} <= ${Math.floor(bytesMax / size)} THEN ${plantJson} END AS "x json" ${range("true")}`;
    const parameters = after === undefined ? [] : [after.id];
    // Few sizes of pages are asked for, but any offset.
    const [rows = []] = yield [{ sql, parameters, isPrepared: offset === 0 }];
    const found = rows as readonly Row[];
    if (found.length > 0 && found.every((row) => row["x json"] !== null)) {
      const own = found.slice(0, size);
      const end = own.at(-1);
      return written(collection, page, own, found.length > size, end?.id, (id) => ({ values: [], id }));
    }
  }
  return yield* scannedPage(collection, traits, page, deadline);
}

function columnsOf(collection: Collection): string {
  const { createdName, updatedName } = representationOf(collection, "list");
  return ((createdName ?? updatedName) === undefined ? plantColumns : storedColumns)(collection);
}

/** A page whose plants are found first, and then read, until the deadline, by performance.now. */
export function* scannedPage(
  collection: Collection,
  traits: Traits,
  page: PageQuery,
  deadline: number,
): SqlWork<Page> {
  const { size, bytesMax } = page;
  // One plant more than the page has shows whether there is a next page.
  const scan = new ListScan(collection, page, traits);
  const { rows: sizes, rest } = yield* scan.find<{ "x bytes": bigint | number }>(
    `${bytesSql(collection)} AS "x bytes"`,
    size + 1,
    deadline,
  );
  const wanted = sizes.slice(0, size);
  const count = countWithin(
    wanted.map((row) => Number(row["x bytes"])),
    bytesMax,
  );
  const ids = wanted.slice(0, count).map(({ id }) => id);
  // By their ids: a plant that is created meanwhile must not push the last one out.
  const plantJson = listedJsonSql(traits.dialect, collection);
  const columns = plantJson === undefined ? columnsOf(collection) : `id, ${plantJson} AS "x json"`;
  const read = ids.length === 0 ? [] : yield* scan.read<Row>(columns, ids);
  const byIds = new Map(read.map((row) => [row.id, row]));
  const rows = ids.flatMap((id) => byIds.get(id) ?? []);
  const isCut = count < wanted.length;
  const placeOf = (id: PlantId) => placeIn(sizes.find((row) => row.id === id) ?? { id });
  const result = written(collection, page, rows, sizes.length > size, ids.at(-1), placeOf, isCut);
  return result.isCutShort || rest === undefined ? result : { ...result, hasMore: true, rest };
}

/**
 * Writes a page that was read up to the plant `end`.
 *
 * @param isCut whether it was to have more plants, and their texts are too long.
 */
function written(
  collection: Collection,
  { size, bytesMax, url }: PageQuery,
  rows: readonly Row[],
  isFull: boolean,
  end: PlantId | undefined,
  placeOf: (id: PlantId) => OrderPlace,
  isCut = false,
): Page {
  const response = representationOf(collection, "list");
  const plants = rows.map(
    (row) =>
      row["x json"] ??
      responseJson(collection, response, toPlant(collection, row), {
        ...("row_version" in row && timesOf(toStored(collection, row as StoredRow))),
        url: response.urlName === undefined ? "" : itemUrl(collection, url, row.id),
      }),
  );
  let json = plants.reduce((before, plant) => (before === "" ? plant : `${before},${plant}`), "");
  let count = rows.length;
  // Escaping makes a text up to six times as long. To ask each plant for its bytes took a third of a
  // page's time, as its text has to be joined first.
  if (Buffer.byteLength(json) > bytesMax) {
    count = countWithin(
      plants.map((plant) => Buffer.byteLength(plant)),
      bytesMax,
    );
    json = plants.slice(0, count).join(",");
  }
  // The last plants may have been deleted meanwhile.
  const last = count < rows.length || rows.length === size ? rows[count - 1]?.id : end;
  const isCutShort = isCut || count < rows.length;
  return {
    json: `[${json}]`,
    count,
    end: last === undefined ? undefined : placeOf(last),
    hasMore: isFull || isCutShort || last !== end,
    isFull,
    isCutShort,
    rest: undefined,
  };
}

/** How many of the first plants make a page: at least one if there is one. */
function countWithin(sizes: readonly number[], bytesMax: number): number {
  // Two brackets, and a comma after each plant.
  let bytes = 2;
  const beyond = sizes.findIndex((size, index) => {
    bytes += size + 1;
    return index > 0 && bytes > bytesMax;
  });
  return beyond === -1 ? sizes.length : beyond;
}
