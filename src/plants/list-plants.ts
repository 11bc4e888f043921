// Serves GET of the collection, such as {base}/plants: a page of plants in the order of their ids.

import { ApiError } from "../base/errors.ts";
import { type Collection, pagePlantsMax } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { operationName } from "../contract/words.ts";
import type { Operation } from "../http/operation.ts";
import { listMsMax } from "../store/shared/page.ts";
import { defineOperation } from "./define-operation.ts";
import { countsAll, listJson, type PageStart } from "./list-envelope.ts";
import { conditionsOf, filterParameters, notServed } from "./list-filters.ts";
import { pageBytesMax } from "./operation-settings.ts";
import { int32, optional, type Parameter, type Parameters, plantId, required } from "./parameters.ts";
import { orderOf, parseCursor, placeOf, sortParameters, toCursor } from "./sorted-list.ts";

export function listOperation(collection: Collection): Operation {
  const { words, operations, list: shape } = collection;
  const { list: described } = operations;
  const listPath = described?.path ?? collection.path;
  const isByAfter = shape.paging === "after";
  const lastId = encodeURIComponent(String(collection.examples[0]?.id));
  const nextPage = { after: lastId, offset: 100, page: 2 }[shape.paging];

  return defineOperation({
    operationId: operationName("list", words.many),
    ...described,
    method: "GET",
    path: listPath,
    summary: `List ${words.many}`,
    description:
      `Returns ${words.many} in the order of their ids${shape.sort === undefined ? "" : `, or in that of \`${shape.sort.name}\``}. If there are more, \`Link\` has the address of the next page
(RFC 8288). ${isByAfter ? `A page of long texts may have fewer ${words.many} than \`${shape.limit.name}\`.` : ""}`.trim(),
    parameters: {
      ...limitParameter(collection),
      ...pagingParameters(collection),
      ...filterParameters(collection),
      ...sortParameters(collection),
    },
    responses: {
      200: {
        description: `A page of ${words.many}.`,
        headers: {
          Link: {
            description: 'The address of the next page, with `rel="next"`; absent on the last page.',
            schema: { type: "string" },
            example: `<${listPath}?${shape.limit.name}=100&${shape.pagingName}=${nextPage}>; rel="next"`,
          },
        },
        returns: "list",
      },
    },
    async handle({ parameters, url, store: { read } }) {
      const { origin, pathname, searchParams: sent } = new URL(url);
      const refused = shape.refused.find((name) =>
        [...sent.keys()].some((each) => each === name || each.startsWith(`${name}[`)),
      );
      const unserved = shape.filters.find(({ name }) => parameters[name] === notServed);
      const what =
        refused === undefined
          ? unserved && `value of the parameter "${unserved.name}"`
          : `parameter "${refused}"`;
      if (what !== undefined)
        return new ApiError("notImplemented", `The ${what} is described, but not served; leave it out.`);
      const limit = parameters[shape.limit.name] as number;
      const start = parameters[shape.pagingName] as PageStart;
      const terms = orderOf(collection, parameters);
      if (terms instanceof ApiError) return terms;
      const place =
        isByAfter && start !== undefined
          ? await placeOf(collection, terms, start as PlantId, read)
          : undefined;
      if (place instanceof ApiError) return place;
      const size = Math.min(limit, pagePlantsMax);
      const number = isByAfter ? 0 : (start as number);
      const offset = shape.paging === "page" ? (number - shape.firstPage) * size : number;
      const query = {
        table: collection.table,
        conditions: conditionsOf(collection, parameters),
        terms,
        after: place,
        offset,
        size,
        bytesMax: pageBytesMax,
        url,
      };
      const found = await read.page(query);
      const { json, count, hasMore, isFull, isCutShort, rest } = found;
      if (!isByAfter && limit > size && isFull)
        return new ApiError(
          "invalidParameter",
          `A page has at most ${pagePlantsMax} ${words.many}, and there are more; ask for fewer with ${shape.limit.name}.`,
        );
      if (shape.paging === "page" && isCutShort)
        return new ApiError(
          "invalidParameter",
          `A page of ${size} would be over ${pageBytesMax} bytes; ask for fewer ${words.many} with ${shape.limit.name}.`,
        );
      const names = shape.filters.map(({ name }) => name).filter((name) => sent.has(name));
      const stopped = (what: string) =>
        new ApiError(
          "invalidParameter",
          `The ${words.many} by "${names.join('", "')}" ${what} within ${listMsMax / 1_000} s; send a filter that fewer of them fit, or another order.`,
        );
      if (rest !== undefined && !isByAfter) return stopped("were not found");
      // A page that is full before it has its size is followed by the plants that it leaves out.
      const end = offset + (isCutShort ? count : size);
      const last = rest === undefined ? found.end : rest.after;
      const cursor = last && (terms.length > 0 ? toCursor(collection, terms, last) : last.id);
      const following = { after: cursor, offset: end, page: number + 1 }[shape.paging];
      const next = hasMore ? following : undefined;
      const total = countsAll(shape.members) ? await read.total(query) : undefined;
      if (total === undefined && countsAll(shape.members, true)) return stopped("were not counted");
      const kept = [...shape.filters.map(({ name }) => name), shape.sort?.name, shape.sort?.direction].filter(
        (name) => name !== undefined,
      );
      const addressOf = (at: PageStart) => {
        const query = new URLSearchParams({ [shape.limit.name]: String(limit) });
        if (at !== undefined) query.set(shape.pagingName, String(at));
        for (const name of kept) for (const value of sent.getAll(name)) query.append(name, value);
        return `${pathname}?${query}`;
      };
      return {
        status: 200,
        jsonText: listJson(shape, {
          json,
          count,
          limit,
          offset: isByAfter ? undefined : offset,
          start,
          next,
          total,
          addressOf: (at) => origin + addressOf(at),
        }),
        headers: next === undefined ? {} : { Link: `<${addressOf(next)}>; rel="next"` },
      };
    },
  });
}

function limitParameter({ list: { limit }, words }: Collection): Parameters {
  const parameter = int32({ description: `At most this many ${words.many}.`, ...limit });
  return { [limit.name]: limit.isRequired ? required(parameter) : parameter };
}

function pagingParameters(collection: Collection): Parameters {
  const { list, words } = collection;
  const maximum = 2 ** 31 - 1;
  const parameters = {
    after: () => {
      const parameter = plantId(
        collection,
        `Only ${words.many} ${list.sort === undefined ? "with a greater id" : "after it in the order of the list: the cursor of a page, or an id"}.`,
      );
      // An integer outside the limits of the contract may be one of an earlier contract.
      const parse = (text: string) => parameter.parse(text) ?? parseCursor(collection, text);
      return optional({ ...parameter, parse });
    },
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
  const parameter = parameters[list.paging]() as Parameter<unknown>;
  return { [list.pagingName]: list.isPagingRequired ? required(parameter) : parameter };
}
