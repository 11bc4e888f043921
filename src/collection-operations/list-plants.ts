// GET of the collection, such as {base}/plants: a page of plants in the order of their ids.

import type { Contract, ListPart } from "../core/contract/contract.ts";
import { pagePlantsMax } from "../core/contract/description/list-shape.ts";
import { ApiError } from "../core/contract/errors.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import { operationName } from "../core/contract/words.ts";
import type { Operation } from "../core/http/operation.ts";
import { defineOperation } from "./define-operation.ts";
import { int32, optional, type Parameters, plantId } from "./parameters.ts";
import { pageBytesMax, pageReader } from "./read-page.ts";

export function listOperation(contract: Contract): Operation {
  const { path: collection, words, operations, list: shape } = contract;
  const readPage = pageReader(contract);
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
      ...pagingParameters(contract),
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
      const { plants, last, hasMore, isFull, isCutShort } = await readPage(read, { after, offset, size });
      if (!isByAfter && limit > size && isFull)
        return new ApiError(
          "invalidParameter",
          `A page has at most ${pagePlantsMax} ${words.many}, and there are more; ask for fewer with limit.`,
        );
      if (!isByAfter && isCutShort)
        return new ApiError(
          "invalidParameter",
          `A page of ${size} would be over ${pageBytesMax} bytes; ask for fewer ${words.many} with limit.`,
        );
      const next = {
        after: last === undefined ? "" : encodeURIComponent(String(last)),
        offset: offset + size,
        page: page + 1,
      }[shape.paging];
      const hasTotal = shape.members?.some(([, holds]) => holds === "total");
      const count = `SELECT count(*) AS total FROM plants WHERE ${read.inTime}`;
      const [counted] = hasTotal ? await read.query<{ total: bigint | number }>(count) : [];
      const json = `[${plants.join(",")}]`;
      const { total } = counted ?? {};
      const parts: Record<ListPart, unknown> = { plants: json, limit, offset, page, total, hasMore };
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
