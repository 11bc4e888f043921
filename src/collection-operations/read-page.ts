// Reads a page of plants in the order of their ids, whose JSON has a limit of bytes.

import type { Contract, PlantColumns } from "../core/contract/contract.ts";
import { responseJson, toValues } from "../core/contract/plant.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import type { OperationStore } from "../core/store/operation-store.ts";

/** The JSON of a page, unless it is one plant. */
export const pageBytesMax = 2 ** 20;

/** The text of a number, a boolean or null, at most. */
const scalarBytesMax = 41;

/** Where a page begins, and how many plants it has at most. */
export interface PageRange {
  readonly after: PlantId | undefined;
  readonly offset: number;
  readonly size: number;
}

export interface Page {
  /** The JSON of each plant. */
  readonly plants: readonly string[];
  /** The id after which the next page begins; undefined if there is none. */
  readonly last: PlantId | undefined;
  readonly hasMore: boolean;
  /** Whether there are more plants than fit into its size. */
  readonly isFull: boolean;
  /** Whether it has fewer plants than its size allows, as they are long. */
  readonly isCutShort: boolean;
}

/** Makes the function that reads pages. */
export function pageReader(contract: Contract) {
  const { fields } = contract;
  const texts = fields.filter(({ type }) => type.column.postgres === "text");
  // The size of a text is in the header of its row; to read all texts took 0.3 ms a megabyte.
  const bytes = [
    ...texts.map(({ column }) => `coalesce(octet_length(${column}), 0)`),
    scalarBytesMax * (fields.length - texts.length),
  ].join(" + ");
  const columns = ["id", "created_at", ...fields.map(({ column }) => column)].join(", ");

  return async (read: OperationStore["read"], { after, offset, size }: PageRange): Promise<Page> => {
    const [from, bound] = after === undefined ? ["", []] : ["AND id > $1", [after]];
    // One more than the page, which shows whether there is a next one.
    const sizes = await read.query<{ id: PlantId; bytes: bigint | number }>(
      `SELECT id, ${bytes} AS bytes FROM plants WHERE ${read.inTime} ${from}
       ORDER BY id LIMIT ${size + 1} OFFSET ${offset}`,
      bound,
    );
    const wanted = sizes.slice(0, size);
    const count = countWithin(wanted.map((row) => Number(row.bytes)));
    const [start, end] = [sizes[0]?.id, sizes[count - 1]?.id];
    // Up to that id: a plant with a smaller one, created meanwhile, would push the last one off.
    const rows =
      start === undefined || end === undefined
        ? []
        : await read.query<PlantColumns & { id: PlantId; created_at: bigint }>(
            `SELECT ${columns} FROM plants
             WHERE ${read.inTime} AND id >= $1 AND id <= $2 ORDER BY id LIMIT ${size}`,
            [start, end],
          );
    const plants = rows.map((row) =>
      responseJson(contract, { id: row.id, values: toValues(contract, row) }, row.created_at),
    );
    // Escaped, a text is up to six times as long.
    const sent = countWithin(plants.map((plant) => Buffer.byteLength(plant)));
    // The last ones may have been deleted meanwhile.
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
  // The brackets, and after each plant a comma.
  let bytes = 2;
  const beyond = sizes.findIndex((size, index) => {
    bytes += size + 1;
    return index > 0 && bytes > pageBytesMax;
  });
  return beyond === -1 ? sizes.length : beyond;
}
