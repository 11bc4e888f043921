// How a contract's list is asked for and written, as far as it means what this server can do.

import type { ListPart, ListShape } from "../contract.ts";
import { isObject, type Json, propertiesOf, requiredOf } from "../schema/schemas.ts";

/** Plants of a page, at most. */
export const pagePlantsMax = 1_000;

const pagePlantsDefault = 100;
const int32Max = 2 ** 31 - 1;

/** Members of lists by their usual names, in lower case and without underscores. */
const partOfName: ReadonlyMap<string, ListPart> = new Map([
  ["limit", "limit"],
  ["perpage", "limit"],
  ["pagesize", "limit"],
  ["offset", "offset"],
  ["page", "page"],
  ["total", "total"],
  ["totalcount", "total"],
  ["totalitems", "total"],
  ["hasmore", "hasMore"],
]);

/**
 * Reads the shape of a list, or returns why it cannot be served.
 *
 * @param schema of the response, with its references replaced; undefined if it is not described.
 * @param parameters the schemas of the query's parameters by their names.
 */
export function readListShape(
  schema: Json | undefined,
  parameters: ReadonlyMap<string, Json>,
): ListShape | string {
  const integer = (name: string) => {
    const parameter = parameters.get(name);
    return parameter?.type === "integer" || parameter?.type === "number" ? parameter : undefined;
  };
  const numberOf = (value: unknown, otherwise: number) =>
    Number.isSafeInteger(value) ? (value as number) : otherwise;
  const [after, offset, page, limit] = ["after", "offset", "page", "limit"].map(integer);
  const paging =
    after !== undefined ? "after" : page !== undefined ? "page" : offset !== undefined ? "offset" : "after";
  const isArray = schema === undefined || schema.type === "array";
  const members = isArray ? undefined : listMembers(schema, paging);
  if (typeof members === "string") return members;
  const minimum = Math.max(numberOf(limit?.minimum, 1), 1);
  // A limit that is described without a maximum may be any; a page has fewer.
  const maximum = numberOf(limit?.maximum, limit === undefined ? pagePlantsMax : int32Max);
  if (maximum < minimum) return `its pages have at most ${maximum}`;
  return {
    members,
    paging,
    firstPage: page?.minimum === 0 || page?.default === 0 ? 0 : 1,
    limit: {
      minimum,
      maximum: Math.min(maximum, int32Max),
      default: Math.min(Math.max(numberOf(limit?.default, pagePlantsDefault), minimum), maximum),
    },
  };
}

/** The members of an object with a list; why it cannot be served if there are none. */
function listMembers(schema: Json, paging: ListShape["paging"]): ListShape["members"] | string {
  const properties = Object.entries(propertiesOf(schema));
  const required = requiredOf(schema);
  const arrays = properties.filter(([, property]) => isObject(property) && property.type === "array");
  const [array, ...others] = arrays.filter(
    ([name]) => arrays.length === 1 || /^(?:data|items|results)$/i.test(name),
  );
  if (array === undefined || others.length > 0)
    return "its response is neither an array nor an object with one";
  const members: [string, ListPart][] = [];
  for (const [name, property] of properties) {
    const named = partOfName.get(name.replaceAll("_", "").toLowerCase());
    const isOfPaging = (named !== "page" && named !== "offset") || named === paging;
    const part = name === array[0] ? "plants" : isOfPaging ? named : undefined;
    const wanted = part === "hasMore" ? "boolean" : part === "plants" ? "array" : "integer";
    if (part !== undefined && isObject(property) && property.type === wanted) members.push([name, part]);
    else if (required.includes(name)) return `nothing fits the "${name}" of its response`;
  }
  const unknown = required.find((name) => !properties.some(([each]) => each === name));
  return unknown === undefined ? members : `nothing fits the "${unknown}" of its response`;
}

/** The shape where the contract describes no list. */
export const ownListShape = readListShape(undefined, new Map()) as ListShape;
