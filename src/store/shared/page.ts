// Reads a page of plants in the order of their ids, or in another, and writes its JSON where the rows are: on SQLite
// in the thread that reads, so that no row crosses to the network's. The JSON of a page is limited.

import {
  type Collection,
  type Contract,
  collectionOf,
  type PlantColumns,
  type Representation,
} from "../../contract/contract.ts";
import { itemUrl, responseJson } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlConnection, SqlValue } from "../sql-connection.ts";
import { type OrderPart, type OrderPlace, orderValues, type PageOrder } from "./page-order.ts";
import { plantColumns, type StoredRow, storedColumns, timesOf, toPlant, toStored } from "./plant-rows.ts";
import { query, type SqlWork } from "./sql-work.ts";

/** The longest text of a number, a boolean or null. */
const scalarBytesMax = 41;

/** The plants before a page that is read in one statement. */
const shortOffsetMax = 10_000;

/** Where a page begins, how long it is at most, and how its plants are written: plain data. */
export interface PageQuery {
  /** The name of the collection's table. */
  readonly table: string;
  readonly response: Representation;
  readonly after: PlantId | undefined;
  readonly offset: number;
  /** Its plants. */
  readonly size: number;
  readonly bytesMax: number;
  readonly filter: PageFilter | undefined;
  /** Undefined for the order of the ids. */
  readonly order?: PageOrder | undefined;
  /** The URL of the list, from which those of its plants follow. */
  readonly url: string;
}

/** A condition on the plants of a page, whose parameters are $1, $2 and so on. */
export interface PageFilter {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

export interface Page {
  /** An array of plants. */
  readonly json: string;
  readonly count: number;
  /** The id after which the next page begins; undefined if there is none. */
  readonly last: PlantId | undefined;
  /** Its place in the order of the page; undefined for that of the ids. */
  readonly place?: OrderPlace | undefined;
  readonly hasMore: boolean;
  /** Whether there are more plants than the requested size. */
  readonly isFull: boolean;
  /** Whether the page has fewer plants than requested because their JSON is too long. */
  readonly isCutShort: boolean;
}

/** Connections of a store, which also read pages of its plants. */
export interface ReadConnection extends SqlConnection {
  /** How many calls run at the same time; further ones wait. */
  readonly callsMax: number;

  page(query: PageQuery, msMax?: number): Promise<Page>;
}

type Row = PlantColumns & { readonly id: PlantId };

/** The bytes of a row's values, for SQL. */
export function bytesSql({ fields }: Collection): string {
  const texts = fields.filter(({ type }) => type.column.postgres === "text");
  // The size of a text is in the header of its row. Reading the texts took 0.3 ms a megabyte.
  return [
    ...texts.map(({ column }) => `coalesce(octet_length(${column}), 0)`),
    scalarBytesMax * (fields.length - texts.length),
  ].join(" + ");
}

/** @param inTime see SqlConnection. */
export function* pageWork(contract: Contract, inTime: string, page: PageQuery): SqlWork<Page> {
  const collection = collectionOf(contract, page.table);
  const { after, offset, size, bytesMax, filter = { sql: "", parameters: [] } } = page;
  const bytes = bytesSql(collection);
  const { createdName, updatedName } = page.response;
  const columns = ((createdName ?? updatedName) === undefined ? plantColumns : storedColumns)(collection);
  const from = after === undefined ? "" : ` AND id > $${filter.parameters.length + 1}`;
  const parameters = after === undefined ? filter.parameters : [...filter.parameters, after];
  const byId: OrderPart = { where: from, parameters: after === undefined ? [] : [after], by: "id" };
  const rangeIn = (condition: string, part = byId) =>
    `FROM "${page.table}" WHERE ${condition}${filter.sql}${part.where}`;
  /** One plant more than the page has shows whether there is a next page. */
  const rowsOf = ({ by } = byId, skipped = offset, rows = size + 1) =>
    ` ORDER BY ${by} LIMIT ${rows} OFFSET ${skipped}`;

  // A page whose texts are short takes one statement, which scans too few plants for a time limit. A
  // filter would look for its plants twice.
  if (page.filter === undefined && page.order === undefined && offset <= shortOffsetMax) {
    const isShort = `(SELECT sum(bytes) FROM (SELECT ${bytes} AS bytes ${rangeIn("true")}${rowsOf()}) AS sizes) <= ${bytesMax}`;
    const found = yield* query<Row>(`SELECT ${columns} ${rangeIn(isShort)}${rowsOf()}`, parameters);
    if (found.length > 0) {
      const rows = found.slice(0, size);
      return written(collection, page, rows, found.length > size, rows.at(-1)?.id);
    }
  }

  const sizes: SizeRow[] = [];
  let skipped = offset;
  for (const part of page.order?.parts ?? [byId]) {
    const own = [...filter.parameters, ...part.parameters];
    const range = rangeIn(inTime, part);
    const some = yield* query<SizeRow>(
      `SELECT id, ${bytes} AS "x bytes"${page.order === undefined ? "" : `, ${page.order.columns}`} ${range}${rowsOf(part, skipped, size + 1 - sizes.length)}`,
      own,
    );
    sizes.push(...some);
    if (sizes.length > size) break;
    // The rows of the next part that are before the page.
    if (some.length > 0) skipped = 0;
    else if (skipped > 0 && page.order?.parts.at(-1) !== part) {
      const [before] = yield* query<{ rows: bigint | number }>(`SELECT count(*) AS rows ${range}`, own);
      skipped = Math.max(skipped - Number(before?.rows), 0);
    }
  }
  const wanted = sizes.slice(0, size);
  const count = countWithin(
    wanted.map((row) => Number(row["x bytes"])),
    bytesMax,
  );
  const ids = wanted.slice(0, count).map(({ id }) => id);
  const end = ids.at(-1);
  // By their ids: a plant that is created meanwhile must not push the last one out.
  const read =
    end === undefined
      ? []
      : yield* query<Row>(
          `SELECT ${columns} FROM "${page.table}"
           WHERE id IN (${ids.map((_, index) => `$${filter.parameters.length + index + 1}`).join(", ")})${filter.sql}`,
          [...filter.parameters, ...ids],
        );
  const byIds = new Map(read.map((row) => [row.id, row]));
  const rows = ids.flatMap((id) => byIds.get(id) ?? []);
  const result = written(collection, page, rows, sizes.length > size, end, count < wanted.length);
  const last = page.order && sizes.find(({ id }) => id === result.last);
  return last === undefined ? result : { ...result, place: { values: orderValues(last), id: last.id } };
}

type SizeRow = { readonly id: PlantId; readonly "x bytes": bigint | number };

/**
 * Writes a page that was read up to the plant `end`.
 *
 * @param isCut whether it was to have more plants, and their texts are too long.
 */
function written(
  collection: Collection,
  { response, size, bytesMax, url }: PageQuery,
  rows: readonly Row[],
  isFull: boolean,
  end: PlantId | undefined,
  isCut = false,
): Page {
  const plants = rows.map((row) =>
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
    last,
    hasMore: isFull || isCutShort || last !== end,
    isFull,
    isCutShort,
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
