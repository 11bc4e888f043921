// GET of the collection, such as {base}/plants: a page of plants in the order of their ids.

import {
  type Contract,
  type ListPart,
  type ListShape,
  pagePlantsMax,
  wholeOf,
} from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import { operationName } from "../core/contract/words.ts";
import type { Operation } from "../core/http/operation.ts";
import { defineOperation } from "./define-operation.ts";
import { pageBytesMax } from "./operation-settings.ts";
import { int32, optional, type Parameters, plantId } from "./parameters.ts";
import { pageReader } from "./read-page.ts";

export function listOperation(contract: Contract): Operation {
  const { words, operations, list: shape } = contract;
  const { create, list: described } = operations;
  const collection = described?.path ?? contract.path;
  const response = described?.response ?? create.response ?? wholeOf(contract);
  const readPage = pageReader(contract, response);
  const isByAfter = shape.paging === "after";

  return defineOperation({
    operationId: described?.operationId ?? operationName("list", words.many),
    access: described?.access,
    errors: described?.errors,
    method: "GET",
    path: collection,
    summary: `List ${words.many}`,
    description:
      `Returns ${words.many} in the order of their ids. If there are more, \`Link\` has the address of the next page
(RFC 8288). ${isByAfter ? `A page of long texts may have fewer ${words.many} than \`${shape.limit.name}\`.` : ""}`.trim(),
    parameters: {
      [shape.limit.name]: int32({ description: `At most this many ${words.many}.`, ...shape.limit }),
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
                `<${collection}?${pageQuery(shape, 100, isByAfter ? "9007199254740993" : 2)}>; rel="next"`,
              ],
            },
          },
        },
        returns: "list",
      },
    },
    async handle({ parameters, path, store: { read } }) {
      const limit = parameters[shape.limit.name] as number;
      const start = parameters[shape.pagingName];
      const after = isByAfter ? (start as PlantId | undefined) : undefined;
      const page = shape.paging === "page" ? (start as number) : shape.firstPage;
      const size = Math.min(limit, pagePlantsMax);
      const skipped = { after: 0, offset: start as number, page: (page - shape.firstPage) * size };
      const offset = skipped[shape.paging];
      const { plants, last, hasMore, isFull, isCutShort } = await readPage(read, { after, offset, size });
      if (!isByAfter && limit > size && isFull)
        return new ApiError(
          "invalidParameter",
          `A page has at most ${pagePlantsMax} ${words.many}, and there are more; ask for fewer with ${shape.limit.name}.`,
        );
      if (!isByAfter && isCutShort)
        return new ApiError(
          "invalidParameter",
          `A page of ${size} would be over ${pageBytesMax} bytes; ask for fewer ${words.many} with ${shape.limit.name}.`,
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
        headers: hasMore ? { Link: `<${path}?${pageQuery(shape, limit, next)}>; rel="next"` } : {},
      };
    },
  });
}

/** The query of a page. */
function pageQuery(
  { limit: { name }, pagingName }: ListShape,
  limit: number,
  start: string | number,
): string {
  return `${encodeURIComponent(name)}=${limit}&${encodeURIComponent(pagingName)}=${start}`;
}

function pagingParameters(contract: Contract): Parameters {
  const { list, words } = contract;
  const maximum = 2 ** 31 - 1;
  const parameters = {
    after: () => optional(plantId(contract, `Only ${words.many} with a greater id.`)),
    offset: () =>
      int32({ description: `The ${words.many} before the page.`, minimum: 0, maximum, default: 0 }),
    page: () =>
      int32({
        description: "The number of the page.",
        minimum: list.firstPage,
        maximum,
        default: list.firstPage,
      }),
  };
  return { [list.pagingName]: parameters[list.paging]() };
}
