// GET of the collection, such as {base}/plants: a page of plants in the order of their ids.

import type { Contract, ListPart, PlantColumns } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { pagePlantsMax } from "../core/contract/list-shape.ts";
import { responseJson, toValues } from "../core/contract/plant.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import { operationName } from "../core/contract/words.ts";
import type { Operation } from "../core/http/operation.ts";
import { defineOperation } from "./define-operation.ts";
import { int32, optional, type Parameters, plantId } from "./parameters.ts";

/** The JSON of a page, unless it is one plant; a page that is cut short has a Link. */
export const pageBytesMax = 2 ** 20;

/** The text of a number, a boolean or null, at most. */
const scalarBytesMax = 41;

export function listOperation(contract: Contract): Operation {
  const { path: collection, fields, words, operations, list: shape } = contract;
  const texts = fields.filter(({ type }) => type.column.postgres === "text");
  // The size of a text is in the header of its row; to read all texts took 0.3 ms a megabyte.
  const bytes = [
    ...texts.map(({ column }) => `coalesce(octet_length(${column}), 0)`),
    scalarBytesMax * (fields.length - texts.length),
  ].join(" + ");
  const columns = ["id", "created_at", ...fields.map(({ column }) => column)].join(", ");

  const paging = pagingParameters(contract);
  const isByAfter = shape.paging === "after";

  return defineOperation({
    operationId: operations.list?.operationId ?? operationName("list", words.many),
    access: operations.list?.access,
    method: "GET",
    path: collection,
    summary: `List ${words.many}`,
    description:
      `Returns ${words.many} in the order of their ids. If there are more, \`Link\` has the address of the next page
(RFC 8288). ${isByAfter ? `A page of long texts may have fewer ${words.many} than \`limit\`.` : ""}`.trim(),
    parameters: {
      limit: int32({ description: `At most this many ${words.many}.`, ...shape.limit }),
      ...paging,
    },
    responses: {
      200: {
        description: `A page of ${words.many}.`,
        headers: {
          Link: {
            description: 'The address of the next page, with `rel="next"`; absent on the last page.',
            schema: {
              type: "string",
              examples: [
                `<${collection}?limit=100&${isByAfter ? "after=9007199254740993" : `${shape.paging}=2`}>; rel="next"`,
              ],
            },
          },
        },
        returns: "list",
      },
    },
    async handle({ parameters, path, store: { read } }) {
      const { limit, after, offset: given = 0, page = shape.firstPage } = parameters as PageParameters;
      const size = Math.min(limit, pagePlantsMax);
      const offset = shape.paging === "page" ? (page - shape.firstPage) * size : given;
      const [from, bound] = after === undefined ? ["", []] : ["AND id > $1", [after]];
      // One more than the page, which shows whether there is a next one.
      const sizes = await read.query<{ id: PlantId; bytes: bigint | number }>(
        `SELECT id, ${bytes} AS bytes FROM plants WHERE ${read.inTime} ${from}
         ORDER BY id LIMIT ${size + 1} OFFSET ${offset}`,
        bound,
      );
      if (!isByAfter && limit > size && sizes.length > size)
        return new ApiError(
          "invalidParameter",
          `A page has at most ${pagePlantsMax} ${words.many}, and there are more; ask for fewer with limit.`,
        );
      const wanted = sizes.slice(0, size);
      const count = countWithin(wanted.map(({ bytes }) => Number(bytes)));
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
      if (!isByAfter && (count < wanted.length || sent < rows.length))
        return new ApiError(
          "invalidParameter",
          `A page of ${size} would be over ${pageBytesMax} bytes; ask for fewer ${words.many} with limit.`,
        );
      const isCut = sent < rows.length || rows.length === size;
      const last = isCut ? rows[sent - 1]?.id : end;
      const hasMore = sizes.length > count || (last !== undefined && end !== undefined && last !== end);
      const next = {
        after: last === undefined ? "" : encodeURIComponent(String(last)),
        offset: offset + size,
        page: page + 1,
      }[shape.paging];
      const total = shape.members?.some(([, holds]) => holds === "total")
        ? await read.query<{ total: bigint | number }>(
            `SELECT count(*) AS total FROM plants WHERE ${read.inTime}`,
          )
        : [];
      const json = `[${plants.slice(0, sent).join(",")}]`;
      const parts: Record<ListPart, unknown> = {
        plants: json,
        limit,
        offset,
        page,
        total: total[0]?.total,
        hasMore,
      };
      const members = shape.members?.map(([name, holds]) => `${JSON.stringify(name)}:${parts[holds]}`);
      return {
        status: 200,
        jsonText: members === undefined ? json : `{${members.join(",")}}`,
        headers: hasMore ? { Link: `<${path}?limit=${limit}&${shape.paging}=${next}>; rel="next"` } : {},
      };
    },
  });
}

/** The parameters by which a client asks for a page; those of one kind are declared. */
interface PageParameters {
  readonly limit: number;
  readonly after?: PlantId;
  readonly offset?: number;
  readonly page?: number;
}

function pagingParameters(contract: Contract): Parameters {
  const { list, words } = contract;
  const maximum = 2 ** 31 - 1;
  switch (list.paging) {
    case "after":
      return { after: optional(plantId(contract, `Only ${words.many} with a greater id.`)) };
    case "offset":
      return {
        offset: int32({ description: `The ${words.many} before the page.`, minimum: 0, maximum, default: 0 }),
      };
    case "page":
      return {
        page: int32({
          description: "The number of the page.",
          minimum: list.firstPage,
          maximum,
          default: list.firstPage,
        }),
      };
  }
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
