// GET of the collection, such as {base}/plants: a page of plants in the order of their ids.

import type { Contract, PlantColumns } from "../core/contract/contract.ts";
import { responseJson, toValues } from "../core/contract/plant.ts";
import { operationName } from "../core/contract/words.ts";
import type { Operation } from "../core/http/operation.ts";
import { defineOperation } from "./define-operation.ts";
import { int32, int64, optional } from "./parameters.ts";

/** The JSON of a page, unless it is one plant; a page that is cut short has a Link. */
export const pageBytesMax = 2 ** 20;

/** The text of a number, a boolean or null, at most. */
const scalarBytesMax = 41;

export function listOperation(contract: Contract): Operation {
  const { path: collection, fields, words, operations } = contract;
  const texts = fields.filter(({ type }) => type.column.postgres === "text");
  // The size of a text is in the header of its row; to read all texts took 0.3 ms a megabyte.
  const bytes = [
    ...texts.map(({ column }) => `coalesce(octet_length(${column}), 0)`),
    scalarBytesMax * (fields.length - texts.length),
  ].join(" + ");
  const columns = ["id", ...fields.map(({ column }) => column)].join(", ");

  return defineOperation({
    operationId: operations.list?.operationId ?? operationName("list", words.many),
    access: operations.list?.access,
    method: "GET",
    path: collection,
    summary: `List ${words.many}`,
    description: `Returns ${words.many} in the order of their ids. If there are more, \`Link\` has the address of the next page
(RFC 8288). A page of long texts may have fewer ${words.many} than \`limit\`.`,
    parameters: {
      limit: int32({
        description: `At most this many ${words.many}.`,
        minimum: 1,
        maximum: 1_000,
        default: 100,
      }),
      after: optional(int64(`Only ${words.many} with a greater id.`)),
    },
    responses: {
      200: {
        description: `A page of ${words.many}.`,
        headers: {
          Link: {
            description: 'The address of the next page, with `rel="next"`; absent on the last page.',
            schema: {
              type: "string",
              examples: [`<${collection}?limit=100&after=9007199254740993>; rel="next"`],
            },
          },
        },
        returns: "list",
      },
    },
    async handle({ parameters: { limit, after }, path, store: { read } }) {
      const [from, parameters] = after === undefined ? ["", []] : ["AND id > $1", [after]];
      // One more than the page, which shows whether there is a next one.
      const sizes = await read.query<{ id: bigint; bytes: bigint | number }>(
        `SELECT id, ${bytes} AS bytes FROM plants WHERE ${read.inTime} ${from} ORDER BY id LIMIT ${limit + 1}`,
        parameters,
      );
      const count = countWithin(sizes.slice(0, limit).map(({ bytes }) => Number(bytes)));
      const end = sizes[count - 1]?.id;
      if (end === undefined) return { status: 200, jsonText: "[]" };
      // Up to that id: a plant with a smaller one, created meanwhile, would push the last one off.
      const rows = await read.query<PlantColumns & { id: bigint }>(
        `SELECT ${columns} FROM plants
         WHERE ${read.inTime} ${from} AND id <= $${parameters.length + 1} ORDER BY id LIMIT ${limit}`,
        [...parameters, end],
      );
      const plants = rows.map((row) =>
        responseJson(contract, { id: row.id, values: toValues(contract, row) }),
      );
      // Escaped, a text is up to six times as long.
      const sent = countWithin(plants.map((plant) => Buffer.byteLength(plant)));
      const isCut = sent < rows.length || rows.length === limit;
      const last = isCut ? rows[sent - 1]?.id : end;
      const hasMore = sizes.length > count || (last !== undefined && last < end);
      const next = `<${path}?limit=${limit}&after=${last}>; rel="next"`;
      const jsonText = `[${plants.slice(0, sent).join(",")}]`;
      return { status: 200, jsonText, headers: hasMore ? { Link: next } : {} };
    },
  });
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
