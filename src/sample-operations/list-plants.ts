// GET {base}/plants: a page of plants in the order of their ids.

import { fieldNames, type PlantColumns } from "../core/contract/fields.ts";
import { toJsonPlant, toNewPlant } from "../core/contract/plant.ts";
import { defineOperation } from "./define-operation.ts";
import { int32, int64, optional } from "./parameters.ts";

/** Names and tags of a page, unless it is one plant; a page that is cut short has a Link. */
const pageBytesMax = 2 ** 20;

const textBytes = fieldNames.map((field) => `coalesce(octet_length(CAST(${field} AS TEXT)), 0)`).join(" + ");

export const listPlants = defineOperation({
  operationId: "listPlants",
  method: "GET",
  path: "/plants",
  summary: "List plants",
  description: `Returns plants in the order of their ids. If there are more, \`Link\` has the address of the next page
(RFC 8288). A page of long names may have fewer plants than \`limit\`.`,
  parameters: {
    limit: int32({ description: "At most this many plants.", minimum: 1, maximum: 1_000, default: 100 }),
    after: optional(int64("Only plants with a greater id.")),
  },
  responses: {
    200: {
      description: "A page of plants.",
      headers: {
        Link: {
          description: 'The address of the next page, with `rel="next"`; absent on the last page.',
          schema: { type: "string", examples: ['</plants?limit=100&after=9007199254740993>; rel="next"'] },
        },
      },
      content: {
        "application/json": {
          schema: { type: "array", items: { $ref: "#/components/schemas/Plant" } },
        },
      },
    },
  },
  replyBytesMax: 2 * pageBytesMax,
  async handle({ parameters: { limit, after }, path, store: { read } }) {
    const [from, parameters] = after === undefined ? ["", []] : ["AND id > $1", [after]];
    const selection = `FROM plants WHERE ${read.inTime} ${from} ORDER BY id`;
    // One more than the page, which shows whether there is a next one.
    const sizes = await read.query<{ bytes: bigint | number }>(
      `SELECT ${textBytes} AS bytes ${selection} LIMIT ${limit + 1}`,
      parameters,
    );
    const count = countWithin(sizes.map(({ bytes }) => Number(bytes)).slice(0, limit));
    const rows = await read.query<PlantColumns & { id: bigint }>(
      `SELECT id, ${fieldNames.join(", ")} ${selection} LIMIT ${count}`,
      parameters,
    );
    const last = rows.at(-1)?.id;
    const next = `<${path}?limit=${limit}&after=${last}>; rel="next"`;
    return {
      status: 200,
      json: rows.map((row) => toJsonPlant(toNewPlant(row.id, row))),
      headers: sizes.length > count && last !== undefined ? { Link: next } : {},
    };
  },
});

/** How many of the first plants make a page: at least one if there is one. */
function countWithin(sizes: readonly number[]): number {
  let bytes = 0;
  const beyond = sizes.findIndex((size, index) => {
    bytes += size;
    return index > 0 && bytes > pageBytesMax;
  });
  return beyond === -1 ? sizes.length : beyond;
}
