// How a contract's list is asked for and written, as far as it means what this server can do.

import {
  type ListPart,
  type ListShape,
  ownListShape,
  pagePlantsMax,
  type Representation,
  wholeOf,
} from "../contract.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { propertiesOf, requiredOf } from "../schema/restrictions.ts";
import type { DescribedOperation, Success } from "./described-operation.ts";
import { expandSchema } from "./expanded-schema.ts";
import { valueTypes } from "./field-type.ts";
import type { Place } from "./place.ts";
import { type Resource, readRepresentation } from "./representations.ts";

const int32Max = 2 ** 31 - 1;

/** A name as those below are written: in lower case, without what separates words. */
const plainName = (name: string) => name.replaceAll(/[-_]/g, "").toLowerCase();

/** Parameters of the query by their usual names. */
const roleOfName: ReadonlyMap<string, ListShape["paging"] | "limit" | "unknown"> = new Map([
  ...["limit", "size", "perpage", "pagesize", "itemsperpage", "take"].map((name) => [name, "limit"] as const),
  ...["offset", "skip"].map((name) => [name, "offset"] as const),
  ...["page", "pagenumber"].map((name) => [name, "page"] as const),
  ...["after", "startingafter"].map((name) => [name, "after"] as const),
  ...["cursor", "before", "endingbefore", "pagetoken", "nexttoken", "marker", "pageindex"].map(
    (name) => [name, "unknown"] as const,
  ),
]);

/** Members of lists by their usual names. */
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

/** The list of a description: its shape, the resources in it, and the parameters that are served. */
export interface DescribedList {
  readonly shape: ListShape;
  readonly response: Representation;
}

/** Reads the list. Throws a ContractError for one that cannot be served. */
export function readList(
  operation: DescribedOperation,
  { schema: place }: Pick<Success, "schema">,
  resource: Resource,
): DescribedList {
  const parameters = queryParameters(operation);
  const paging = (["after", "page", "offset"] as const).find((role) => parameters.has(role)) ?? "after";
  const other = [...parameters].find(([role]) => role !== paging && role !== "limit")?.[1];
  if (other !== undefined && !isAlso(other.name, parameters, paging))
    throw other.place.error(`its parameter "${other.name}" looks like paging, and is not served`);
  const limit = readLimit(parameters.get("limit"));
  const page = parameters.get("page")?.schema;
  const { array, members } = place === undefined ? ownBody : readBody(place, paging);
  return {
    shape: {
      members,
      paging,
      pagingName: parameters.get(paging)?.name ?? paging,
      firstPage: page?.minimum === 0 || page?.default === 0 ? 0 : 1,
      limit,
    },
    response: array === undefined ? wholeOf(resource) : readItems(array, resource),
  };
}

interface QueryParameter {
  readonly name: string;
  readonly place: Place;
  readonly schema: Json;
}

/** The parameters of the query that choose a page, by their roles. */
function queryParameters({ parameters }: DescribedOperation): Map<string, QueryParameter> {
  const found = new Map<string, QueryParameter>();
  for (const place of parameters) {
    const name = String(place.at("name").value);
    const role = roleOfName.get(plainName(name));
    if (place.at("in").value !== "query" || role === undefined) continue;
    const schema = place.at("schema").object === undefined ? {} : expandSchema(place.at("schema"));
    if (role !== "after" && role !== "unknown" && !valueTypes(schema).has("integer")) continue;
    if (!found.has(role)) found.set(role, { name, place, schema });
  }
  return found;
}

/** Whether a list that has several kinds of paging can do without one. */
function isAlso(name: string, parameters: ReadonlyMap<string, QueryParameter>, paging: string): boolean {
  return parameters.has(paging) && roleOfName.get(plainName(name)) !== "unknown";
}

function readLimit(parameter: QueryParameter | undefined): ListShape["limit"] {
  const { minimum: least, maximum: most, default: usual } = parameter?.schema ?? {};
  const numberOf = (value: unknown, otherwise: number) =>
    Number.isSafeInteger(value) ? (value as number) : otherwise;
  const minimum = Math.max(numberOf(least, 1), 1);
  // A limit that is described without a maximum may be any; a page has fewer.
  const maximum = numberOf(most, parameter === undefined ? pagePlantsMax : int32Max);
  if (maximum < minimum) throw (parameter as QueryParameter).place.error(`its pages have at most ${maximum}`);
  return {
    name: parameter?.name ?? "limit",
    minimum,
    maximum: Math.min(maximum, int32Max),
    default: Math.min(Math.max(numberOf(usual, ownListShape.limit.default), minimum), maximum),
  };
}

interface ListBody {
  readonly array: Place | undefined;
  readonly members: ListShape["members"];
}

const ownBody: ListBody = { array: undefined, members: undefined };

/** Finds the array of a list. Throws a ContractError if there is none, or if others are required. */
function readBody(place: Place, paging: ListShape["paging"]): ListBody {
  const schema = expandSchema(place);
  if (isArray(schema)) return { array: place, members: undefined };
  const required = requiredOf(schema);
  const properties = Object.entries(propertiesOf(schema));
  const arrays = properties.filter(([, property]) => isArray(property));
  const [array, ...others] = arrays.filter(
    ([name]) => arrays.length === 1 || /^(?:data|items|results|content)$/i.test(name),
  );
  if (array === undefined || others.length > 0)
    throw place.error("its response is neither an array nor an object with one");
  const members: [string, ListPart][] = [];
  for (const [name, property] of properties) {
    const named = partOfName.get(plainName(name));
    const isOfPaging = (named !== "page" && named !== "offset") || named === paging;
    const part = name === array[0] ? "plants" : isOfPaging ? named : undefined;
    const wanted = part === "hasMore" ? "boolean" : part === "plants" ? "array" : "integer";
    if (part !== undefined && valueTypes(property).has(wanted)) members.push([name, part]);
    else if (required.includes(name)) throw place.error(`nothing fits the "${name}" of its response`);
  }
  const unknown = required.find((name) => !properties.some(([each]) => each === name));
  if (unknown !== undefined) throw place.error(`nothing fits the "${unknown}" of its response`);
  return { array: findProperty(place, array[0]), members };
}

function isArray(schema: unknown): boolean {
  const types = valueTypes(schema);
  types.delete("null");
  return isObject(schema) && types.size === 1 && types.has("array");
}

/** The place of a property, also one of a part of allOf. */
function findProperty(place: Place, name: string): Place | undefined {
  const { target } = place;
  const own = target.own("properties", name);
  if (own.value !== undefined) return own;
  for (const keyword of ["allOf", "anyOf", "oneOf"])
    for (const part of target.own(keyword).items) {
      const found = findProperty(part, name);
      if (found !== undefined) return found;
    }
  return undefined;
}

/** What a resource is in an array. */
function readItems(array: Place, resource: Resource): Representation {
  const { target } = array;
  const items = target.own("items");
  if (items.value !== undefined) return readRepresentation(items, resource);
  for (const keyword of ["allOf", "anyOf", "oneOf"])
    for (const part of target.own(keyword).items)
      if (part.at("items").value !== undefined) return readRepresentation(part.at("items"), resource);
  return wholeOf(resource);
}
