// Reads a page of plants in the order of their ids. The JSON of a page is limited.

import type { Collection, PlantColumns, Representation } from "../core/contract/contract.ts";
import { itemUrl, responseJson, toValues } from "../core/contract/plant.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import type { OperationStore } from "../core/store/operation-store.ts";
import { type TimeColumns, timeColumns } from "../core/store/plant-rows.ts";
import type { SqlValue } from "../core/store/sql-connection.ts";
import { pageBytesMax } from "./operation-settings.ts";

/** The longest text of a number, a boolean or null. */
const scalarBytesMax = 41;

/** Where a page begins, and how many plants it has at most. */
export interface PageRange {
  readonly after: PlantId | undefined;
  readonly offset: number;
  readonly size: number;
  readonly filter: PageFilter;
  /** The URL of the list, from which those of its plants follow. */
  readonly url: string;
}

/** A condition on the plants of a page, whose parameters are $1, $2 and so on. */
export interface PageFilter {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  /** The time that each query may take; undefined for that of every query. */
  readonly msMax: number | undefined;
}

export const noFilter: PageFilter = { sql: "", parameters: [], msMax: undefined };

export interface Page {
  /** The JSON of each plant. */
  readonly plants: readonly string[];
  /** The id after which the next page begins; undefined if there is none. */
  readonly last: PlantId | undefined;
  readonly hasMore: boolean;
  /** Whether there are more plants than the requested size. */
  readonly isFull: boolean;
  /** Whether the page has fewer plants than requested because their JSON is too long. */
  readonly isCutShort: boolean;
}

/** Makes the function that reads pages. */
export function pageReader(collection: Collection, response: Representation) {
  const { table, fields } = collection;
  const texts = fields.filter(({ type }) => type.column.postgres === "text");
  // The size of a text is in the header of its row. Reading the texts took 0.3 ms a megabyte.
  const bytes = [
    ...texts.map(({ column }) => `coalesce(octet_length(${column}), 0)`),
    scalarBytesMax * (fields.length - texts.length),
  ].join(" + ");
  const columns = ["id", ...timeColumns(collection), ...fields.map(({ column }) => column)].join(", ");

  return async (
    read: OperationStore["read"],
    { after, offset, size, filter, url }: PageRange,
  ): Promise<Page> => {
    const { sql: only, parameters, msMax } = filter;
    const first = parameters.length + 1;
    const [from, bound] = after === undefined ? ["", []] : [` AND id > $${first}`, [after]];
    // One plant more than the page has shows whether there is a next page.
    const sizes = await read.query<{ id: PlantId; bytes: bigint | number }>(
      `SELECT id, ${bytes} AS bytes FROM "${table}" WHERE ${read.inTime}${only}${from}
       ORDER BY id LIMIT ${size + 1} OFFSET ${offset}`,
      [...parameters, ...bound],
      msMax,
    );
    const wanted = sizes.slice(0, size);
    const count = countWithin(wanted.map((row) => Number(row.bytes)));
    const [start, end] = [sizes[0]?.id, sizes[count - 1]?.id];
    // Ends at that id: a plant created meanwhile with a smaller id would push the last one out.
    const rows =
      start === undefined || end === undefined
        ? []
        : await read.query<PlantColumns & TimeColumns & { id: PlantId }>(
            `SELECT ${columns} FROM "${table}"
             WHERE ${read.inTime}${only} AND id >= $${first} AND id <= $${first + 1}
             ORDER BY id LIMIT ${size}`,
            [...parameters, start, end],
            msMax,
          );
    const plants = rows.map((row) => {
      const { id, created_at: createdAt, changed_at: changedAt } = row;
      const plant = { id, values: toValues(collection, row) };
      return responseJson(collection, response, plant, {
        createdAt,
        changedAt,
        url: itemUrl(collection, url, id),
      });
    });
    // Escaping makes a text up to six times as long.
    const sent = countWithin(plants.map((plant) => Buffer.byteLength(plant)));
    // The last plants may have been deleted meanwhile.
    const last = sent < rows.length || rows.length === size ? rows[sent - 1]?.id : end;
    return {
      plants: plants.slice(0, sent),
      last,
      hasMore: sizes.length > count || last !== end,
      isFull: sizes.length > size,
      isCutShort: count < wanted.length || sent < rows.length,
    };
  };
}

/** How many of the first plants make a page: at least one if there is one. */
function countWithin(sizes: readonly number[]): number {
  // Two brackets, and a comma after each plant.
  let bytes = 2;
  const beyond = sizes.findIndex((size, index) => {
    bytes += size + 1;
    return index > 0 && bytes > pageBytesMax;
  });
  return beyond === -1 ? sizes.length : beyond;
}
