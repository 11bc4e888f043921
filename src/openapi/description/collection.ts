// Finds the collections of a description: their paths, their POSTs, and the ids of their resources.

import type { Collection } from "../../contract/contract.ts";
import { type ContractError, contractErrorOf, type Place, readable } from "../document/place.ts";
import { type ObjectSchema, readObjectSchema, readOnlyNames } from "./body-schema.ts";
import {
  type DescribedOperation,
  isItemOf,
  isJson,
  jsonMediaOf,
  methods,
  operationAt,
  type Success,
  successOf,
} from "./described-operation.ts";
import { pathsOf } from "./described-paths.ts";
import { expandSchema } from "./expanded-schema.ts";
import { readId } from "./fields.ts";
import { hasProperties, wrappingMember } from "./representations.ts";

/** The parts of a collection that decide whether it can be served. */
export interface DescribedCollection {
  readonly path: string;
  /** The path of one resource, as it is described, and the name of its parameter. */
  readonly item: { readonly path: string; readonly parameter: string } | undefined;
  readonly operation: DescribedOperation;
  /** The JSON of the body. */
  readonly media: Place;
  /** The schema of the resource in the body. */
  readonly body: ObjectSchema;
  /** The member of the body that has it; undefined if it is the body. */
  readonly wrapper: string | undefined;
  /** The resource in the responses to the create and to the GET of one, as far as they are described. */
  readonly returned: readonly ObjectSchema[];
  readonly id: Collection["id"];
  readonly success: Success;
}

/**
 * Finds the collections of a description: the paths with a POST, beside which there is a path of one
 * resource. Another POST is probably an action, such as a search, unless it is the only one.
 *
 * @param faults takes why others cannot be served, by the pointers of their POSTs.
 */
export async function findCollections(
  root: Place,
  faults: Map<string, ContractError>,
): Promise<readonly DescribedCollection[]> {
  const found: DescribedCollection[] = [];
  for (const [path, item] of root.at("paths").members) {
    const isOther = path.startsWith("x-") || path.includes("{");
    if (isOther) continue;
    let place = item;
    root.restartCount();
    try {
      place = item.at("post");
      if (place.value === undefined) continue;
      found.push(await readDescribed(root, operationAt(item, path, "post")));
    } catch (error) {
      faults.set(place.pointer, contractErrorOf(error));
    }
  }
  const withItems = found.filter(({ item }) => item !== undefined);
  if (withItems.length === 0 && found.length === 1) return found;
  for (const { operation, path, item } of found)
    if (item === undefined)
      faults.set(
        operation.place.pointer,
        operation.place.error(`there is no path of one resource, such as ${path}/{id}, beside it`),
      );
  return withItems;
}

async function readDescribed(root: Place, operation: DescribedOperation): Promise<DescribedCollection> {
  const { path, place } = operation;
  const requestBody = place.at("requestBody");
  const media = jsonMediaOf(requestBody, isJson)?.[1];
  if (media === undefined) throw requestBody.error(`the POST of ${path} has no body of application/json`);
  const sent = readObjectSchema(media.at("schema"));
  const success = successOf(operation, ["200", "201", "202", "204"]);
  const item = itemOf(root, path);
  const named = item?.parameter;
  const names = idNames(named);
  const { body, wrapper } = unwrapped(sent, success.schema, names);
  const returned = [
    success.schema && resourceIn(success.schema, names, body),
    item &&
      readable(() => resourceOfGet(operationAt(root.at("paths", item.path), item.path, "get"), names, body)),
  ].filter((each) => each !== undefined);
  const parameter = item && readable(() => idParameterOf(root.at("paths", item.path)));
  const id = await readId(path, { body, returned, names, parameter });
  return { path, item, operation, media, body, wrapper, returned, id, success };
}

/** The resource in the success of the GET of one. Throws a ContractError if any of it cannot be read. */
function resourceOfGet(
  get: DescribedOperation,
  names: readonly string[],
  body: ObjectSchema,
): ObjectSchema | undefined {
  if (get.place.value === undefined) return undefined;
  const { schema } = successOf(get, ["200"]);
  if (schema === undefined || !hasProperties(schema)) return undefined;
  const resource = resourceIn(schema, names, body);
  for (const { places } of resource.properties.values()) for (const { place } of places) expandSchema(place);
  return resource;
}

/** The schema of the id in the path of one resource. */
function idParameterOf(item: Place): Place | undefined {
  const schema = [...methods.map((method) => item.at(method)), item]
    .flatMap((each) => each.at("parameters").items)
    .find((each) => readable(() => each.at("in").value) === "path")
    ?.at("schema");
  return schema?.object === undefined ? undefined : schema;
}

/**
 * Names that the id may have, the likeliest first: that of the parameter in its path, "id", and the last
 * word of that parameter, such as the "gid" of {task_gid}.
 */
function idNames(named: string | undefined): string[] {
  const [word] = /(?:[A-Z]|(?<=[_-])[a-z])[a-z]+$/.exec(named ?? "") ?? [];
  return [...new Set([named, "id", word?.toLowerCase()].filter((name) => name !== undefined))];
}

/** The resource in a body, which may be its only member if the response has it otherwise. */
function unwrapped(
  body: ObjectSchema,
  response: Place | undefined,
  names: readonly string[],
): Pick<DescribedCollection, "body" | "wrapper"> {
  const ignored = readOnlyNames(body);
  const [only, ...others] = [...body.properties].filter(([name]) => !ignored.includes(name));
  if (only === undefined || others.length > 0 || !hasProperties(only[1].place))
    return { body, wrapper: undefined };
  const inner = readObjectSchema(only[1].place);
  const [wrapper] = only;
  const isWrapper =
    response === undefined || !hasProperties(response)
      ? wrapper === "data"
      : hasInner(readObjectSchema(response), wrapper, inner, names);
  return isWrapper ? { body: inner, wrapper } : { body, wrapper: undefined };
}

/** Whether a response has what is in the member of a body, itself or in one of its members. */
function hasInner(
  { properties }: ObjectSchema,
  wrapper: string,
  inner: ObjectSchema,
  names: readonly string[],
): boolean {
  const sharesWith = (other: ObjectSchema) =>
    [...inner.properties.keys()].some((name) => other.properties.has(name));
  // Then the member is a property of the resource.
  const isOwnId = (name: string) => name !== wrapper && properties.has(name);
  if (properties.has(wrapper) && names.some(isOwnId)) return false;
  const members = [...properties.values()].flatMap(({ place }) =>
    hasProperties(place) ? [readObjectSchema(place)] : [],
  );
  const isBare =
    !properties.has(wrapper) && [...inner.properties.keys()].some((name) => properties.has(name));
  return isBare || members.some(sharesWith);
}

/** The resource in a response. */
function resourceIn(response: Place, names: readonly string[], { properties }: ObjectSchema): ObjectSchema {
  const outer = readObjectSchema(response);
  for (const name of names) {
    const member = wrappingMember(outer, name, properties.keys());
    const inner = member === undefined ? undefined : outer.properties.get(member);
    if (inner !== undefined) return readObjectSchema(inner.place);
  }
  return outer;
}

/** The path of one resource of a collection; undefined if it is not described. */
function itemOf(root: Place, collection: string): DescribedCollection["item"] {
  const path = pathsOf(root, collection).find((each) => isItemOf(collection, each));
  if (path === undefined) return undefined;
  return { path, parameter: path.slice(path.lastIndexOf("{") + 1, path.lastIndexOf("}")) };
}
