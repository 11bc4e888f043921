// Reads how a list is asked for and written, as far as this server can do it.

import {
  type ListContent,
  type ListMember,
  type ListMembers,
  type ListPart,
  type ListShape,
  ownListShape,
  pagePlantsMax,
  type Representation,
  wholeOf,
} from "../../contract/contract.ts";
import { plainName } from "../../contract/list-order.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { type Place, readable } from "../document/place.ts";
import { propertiesOf, requiredOf } from "../schema/restrictions.ts";
import { type Property, readObjectSchema, schemaOf } from "./body-schema.ts";
import type { DescribedOperation, Success } from "./described-operation.ts";
import { expandSchema } from "./expanded-schema.ts";
import { valueTypes } from "./field-type.ts";
import { readFilters } from "./list-filters.ts";
import { listKeys, readSort } from "./list-sort.ts";
import { type QueryParameter, queryParameters } from "./query-parameters.ts";
import { hasProperties, type Resource, readRepresentation } from "./representations.ts";

const int32Max = 2 ** 31 - 1;

/** Members of lists by their usual names, with their types. */
const namesOfPart: Partial<Readonly<Record<ListPart, readonly [type: string, names: string]>>> = {
  limit: ["integer", "limit perpage pagesize size itemsperpage take"],
  offset: ["integer", "offset skip"],
  page: ["integer", "page currentpage number pagenumber pageindex"],
  total: ["integer", "total totalcount totalitems totalelements totalrecords totalresults itemcount count"],
  pages: ["integer", "pages totalpages pagecount lastpage"],
  onPage: ["integer", "numberofelements count"],
  from: ["integer", "from"],
  to: ["integer", "to"],
  hasMore: ["boolean", "hasmore hasnext hasnextpage"],
  hasPrevious: ["boolean", "hasprevious haspreviouspage hasprev"],
  isFirst: ["boolean", "first isfirst"],
  isLast: ["boolean", "last islast"],
  isEmpty: ["boolean", "empty isempty"],
  // Its type follows from the paging.
  nextCursor: ["", "nextcursor nextpagetoken nexttoken nextpage next cursor"],
  nextUrl: ["string", "next nextpage nexturl nextlink"],
  previousUrl: ["string", "previous prev previouspage prevpage previousurl prevurl"],
  firstUrl: ["string", "first firstpageurl"],
  lastUrl: ["string", "last lastpageurl"],
  url: ["string", "path self url href"],
};

/** Whether a member may be a part of a list, by its name. */
function isNamed(part: ListPart, name: string): boolean {
  return namesOfPart[part]?.[1].split(" ").includes(plainName(name)) === true;
}

/** The list of a description: its shape, the resources in it, and the parameters that are served. */
export interface DescribedList {
  readonly shape: ListShape;
  readonly response: Representation;
  /** The names of the parameters that are served, or that are refused. */
  readonly parameters: readonly string[];
}

/** Reads the list. Rejects with a ContractError for one that cannot be served. */
export async function readList(
  operation: DescribedOperation,
  { schema: place }: Pick<Success, "schema">,
  resource: Resource,
): Promise<DescribedList> {
  const parameters = queryParameters(operation);
  const chosen = (["after", "page", "offset"] as const).flatMap((role) =>
    parameters.filter((each) => each.role === role).map((each) => ({ ...each, role })),
  )[0];
  const sizes = parameters.filter(({ role }) => role === "limit");
  const paging = chosen?.role ?? "after";
  const { array, members } = place === undefined ? ownBody : readBody(place, paging);
  const response = array === undefined ? wholeOf(resource) : await readItems(array, resource);
  const keys = listKeys(resource, response);
  const free = parameters.filter(({ role }) => role === undefined);
  const filters = await readFilters(free, keys, resource);
  const unused = parameters.filter(
    (each) =>
      each.name !== chosen?.name && each !== sizes[0] && !filters.some(({ name }) => name === each.name),
  );
  const sort = readSort(unused, keys);
  const refused = unused.filter(({ name }) => name !== sort?.name && name !== sort?.direction);
  const others = refused.filter(({ role }) => role !== undefined);
  if (chosen === undefined && others[0] !== undefined)
    throw others[0].place.error(`its parameter "${others[0].name}" looks like paging, and is not served`);
  const needed = refused.find(({ isRequired }) => isRequired);
  if (needed !== undefined)
    throw needed.place.error(`its parameter "${needed.name}" is required, and is not served`);
  for (const { name, place: at } of refused)
    at.note(`a list that is asked for by "${name}" is not served: it responds with 501`);
  for (const { place: at, schema, name } of [chosen, sizes[0]].filter((each) => each !== undefined))
    if (![...valueTypes(schema)].some((type) => type === "integer" || type === "string"))
      throw at.error(`its parameter "${name}" looks like paging, and is neither an integer nor a text`);
  const { minimum, default: usual } = chosen?.schema ?? {};
  return {
    shape: {
      members,
      paging,
      pagingName: chosen?.name ?? paging,
      isPagingRequired: paging !== "after" && chosen?.isRequired === true,
      firstPage: minimum === 0 || usual === 0 ? 0 : 1,
      limit: readLimit(sizes[0]),
      filters,
      sort,
      refused: refused.map(({ name }) => name),
    },
    response,
    parameters: parameters.map(({ place }) => String(place.at("name").value)),
  };
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
    isDescribed: parameter !== undefined,
    isRequired: parameter?.isRequired ?? false,
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
  const schema = wholeSchema(place);
  if (isArray(schema)) return { array: place, members: undefined };
  const arrays = Object.entries(propertiesOf(schema)).filter(([, property]) => isArray(property));
  const [array, ...others] = arrays.filter(
    ([name]) => arrays.length === 1 || /^(?:data|items|results|content)$/i.test(name),
  );
  if (array === undefined || others.length > 0)
    throw place.error("its response is neither an array nor an object with one");
  return {
    array: arrayPlace(readObjectSchema(place).properties.get(array[0])),
    members: readMembers(schema, place, paging, array[0]),
  };
}

/** A schema with the properties of all its parts, of which two may describe the same one. */
function wholeSchema(place: Place): Json {
  const object = hasProperties(place) ? readObjectSchema(place) : undefined;
  if (object === undefined) return expandSchema(place);
  const properties = [...object.properties].map(([name, each]) => [name, schemaOf(each)] as const);
  const named = [...object.properties].flatMap(([name, { isRequired }]) => (isRequired ? [name] : []));
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: [...named, ...object.undescribed],
  };
}

/** The place of an array that says most of its items. */
function arrayPlace(property: Property | undefined): Place | undefined {
  const places = property?.places.map(({ place }) => place) ?? [];
  const sizeOf = (place: Place) => {
    const items = place.target.own("items");
    return readable(() => (hasProperties(items) ? readObjectSchema(items).properties.size : 0)) ?? 0;
  };
  return places.toSorted((one, other) => sizeOf(other) - sizeOf(one))[0];
}

/** Objects in a list that have its page and its links. */
const partsOfList = ["meta", "page", "pagination", "paging", "links", "pageable", "pageinfo"];

/**
 * The members of a list, or of an object in it. Throws a ContractError for one that is required and
 * that nothing fits.
 */
function readMembers(schema: Json, place: Place, paging: ListShape["paging"], array?: string): ListMembers {
  const required = requiredOf(schema);
  const properties = propertiesOf(schema);
  const members: ListMember[] = [];
  const below = (object: Json) => ({ members: readMembers(object, place, paging) });
  const hasTotal = Object.keys(properties).some((name) => /^total/.test(plainName(name)));
  for (const [name, property] of Object.entries(properties)) {
    const isRequired = required.includes(name);
    const types = valueTypes(property);
    const isOptional = !isRequired && !types.has("null");
    const isPart = isRequired || partsOfList.includes(plainName(name));
    let holds: ListContent | undefined =
      name === array ? "plants" : partFor(name, property, { paging, hasTotal });
    if (holds === undefined && isPart && types.has("object") && isObject(property))
      holds = isRequired ? below(property) : readable(() => below(property));
    const isNext = isNamed("nextCursor", name);
    if (holds === undefined && isRequired && types.has("null") && !isNext) holds = { json: "null" };
    if (holds === undefined && isRequired && isArray(property)) holds = { json: "[]" };
    if (holds !== undefined) members.push([name, holds, isOptional]);
    else if (isRequired) throw place.error(`nothing fits the "${name}" of its response`);
  }
  const unknown = required.find((name) => !Object.hasOwn(properties, String(name)));
  if (unknown !== undefined) throw place.error(`nothing fits the "${unknown}" of its response`);
  return members;
}

/** The part of a list that a member has by its name and its types. */
function partFor(
  name: string,
  property: unknown,
  { paging, hasTotal }: { readonly paging: ListShape["paging"]; readonly hasTotal: boolean },
): ListPart | undefined {
  const types = valueTypes(property);
  const isUrl = isObject(property) && String(property.format).startsWith("uri");
  return (Object.keys(namesOfPart) as ListPart[]).find((part) => {
    if (!isNamed(part, name)) return false;
    // Where a list counts all, the count beside it is that of the page.
    if (part === "total" && plainName(name) === "count" && hasTotal) return false;
    // The place of a page that begins after an id is not known.
    if (paging === "after" && ["page", "offset", "from", "to"].includes(part)) return false;
    if (part === "nextCursor") return !isUrl && types.has(paging === "after" ? "string" : "integer");
    return types.has(namesOfPart[part]?.[0] ?? "");
  });
}

function isArray(schema: unknown): boolean {
  const types = valueTypes(schema);
  types.delete("null");
  return isObject(schema) && types.size === 1 && types.has("array");
}

/** Reads what a resource is in an array. */
async function readItems(array: Place, resource: Resource): Promise<Representation> {
  const { target } = array;
  const items = target.own("items");
  if (items.value !== undefined) return await readRepresentation(items, resource);
  for (const keyword of ["allOf", "anyOf", "oneOf"])
    for (const part of target.own(keyword).items)
      if (part.at("items").value !== undefined) return await readRepresentation(part.at("items"), resource);
  return wholeOf(resource);
}
