// The collection of a description that is served: its path, its POST, and the id of its resource.

import type { Contract } from "../contract.ts";
import { type ObjectSchema, readObjectSchema, readOnlyNames } from "./body-schema.ts";
import type { Checks } from "./checks.ts";
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
import { readId } from "./id.ts";
import { ContractError, type Place } from "./place.ts";
import { hasProperties, wrappingMember } from "./representations.ts";

/** The parts of a collection that decide whether it can be served. */
export interface Collection {
  readonly path: string;
  readonly operation: DescribedOperation;
  /** The JSON of the body. */
  readonly media: Place;
  /** The schema of the resource in the body. */
  readonly body: ObjectSchema;
  /** The member of the body that has it; undefined if it is the body. */
  readonly wrapper: string | undefined;
  /** The resource in the responses to the create and to the GET of one, as far as they are described. */
  readonly returned: readonly ObjectSchema[];
  readonly id: Contract["id"];
  readonly success: Success;
}

/**
 * Finds the only collection of a description, or the one with the wanted path. Rejects with a
 * ContractError.
 */
export async function findCollection(
  root: Place,
  wanted: string | undefined,
  checks: Checks,
): Promise<Collection> {
  const paths = root.at("paths");
  const found: Collection[] = [];
  const reasons: ContractError[] = [];
  for (const [path, item] of paths.members) {
    const isOther = path.startsWith("x-") || path.includes("{") || path !== (wanted ?? path);
    if (isOther || item.at("post").value === undefined) continue;
    try {
      found.push(await readCollection(root, operationAt(item, path, "post"), checks));
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      reasons.push(error);
    }
  }
  // A POST beside which there is no path of one resource is probably an action, such as a search.
  const withItems = found.filter(({ path }) => itemPathOf(root, path) !== undefined);
  const candidates = withItems.length > 0 ? withItems : found;
  const [collection, ...others] = candidates;
  if (others.length > 0) {
    const all = candidates.map(({ path }) => path).join(", ");
    throw paths.error(`it has several collections; choose one of ${all} with --collection`);
  }
  if (collection !== undefined) return collection;
  if (reasons[0] !== undefined) throw reasons[0];
  throw paths.error(
    wanted === undefined ? "it has no POST whose body is the resource" : `it has no POST of ${wanted}`,
  );
}

async function readCollection(
  root: Place,
  operation: DescribedOperation,
  checks: Checks,
): Promise<Collection> {
  const { path, place } = operation;
  const requestBody = place.at("requestBody");
  const media = jsonMediaOf(requestBody, isJson)?.[1];
  if (media === undefined) throw requestBody.error(`the POST of ${path} has no body of application/json`);
  const sent = readObjectSchema(media.at("schema"));
  const success = successOf(operation, ["200", "201", "202", "204"]);
  const itemName = itemPathOf(root, path);
  const item = itemName === undefined ? undefined : root.at("paths", itemName);
  const named = /\{(.*)\}/.exec(itemName?.slice(path.length) ?? "")?.[1];
  const got = itemName === undefined || item === undefined ? undefined : getOf(item, itemName);
  const names = ["id", named].filter((name) => name !== undefined);
  const { body, wrapper } = unwrapped(sent, success.schema, names);
  const returned = [success.schema, got?.success]
    .filter((schema) => schema !== undefined)
    .map((schema) => resourceIn(schema, names, body));
  const id = await readId(path, { body, returned, named, parameter: got?.parameter }, checks);
  return { path, operation, media, body, wrapper, returned, id, success };
}

/** The schemas of the success and of the id in the path of the GET of one resource. */
function getOf(item: Place, path: string): { readonly success?: Place; readonly parameter?: Place } {
  const method = methods.find((each) => item.at(each).value !== undefined);
  if (method === undefined) return {};
  const { parameters } = operationAt(item, path, method);
  const parameter = parameters.find((each) => each.at("in").value === "path");
  const success =
    item.at("get").value === undefined ? undefined : successOf(operationAt(item, path, "get"), ["200"]);
  return {
    ...(success?.schema !== undefined && hasProperties(success.schema) && { success: success.schema }),
    ...(parameter?.at("schema").object !== undefined && { parameter: parameter.at("schema") }),
  };
}

/** The resource in a body, which may be its only member if the response has the same. */
function unwrapped(
  body: ObjectSchema,
  response: Place | undefined,
  names: readonly string[],
): Pick<Collection, "body" | "wrapper"> {
  const ignored = readOnlyNames(body);
  const [only, ...others] = [...body.properties].filter(([name]) => !ignored.includes(name));
  if (only === undefined || others.length > 0 || !hasProperties(only[1].place))
    return { body, wrapper: undefined };
  const inner = readObjectSchema(only[1].place);
  const wrapping =
    response === undefined || !hasProperties(response)
      ? "data"
      : names
          .map((name) => wrappingMember(readObjectSchema(response), name, inner.properties.keys()))
          .find((name) => name !== undefined);
  return wrapping === only[0] ? { body: inner, wrapper: wrapping } : { body, wrapper: undefined };
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

/** The path of one resource of a collection, as it is described; undefined if it is not. */
export function itemPathOf(root: Place, collection: string): string | undefined {
  return root.at("paths").members.find(([path]) => isItemOf(collection, path))?.[0];
}
