// The collection of a description that is served: its path, its POST, and the id of its resource.

import type { Contract } from "../contract.ts";
import { type ObjectSchema, readObjectSchema } from "./body-schema.ts";
import type { Checks } from "./checks.ts";
import {
  type DescribedOperation,
  isItemOf,
  isJson,
  jsonMediaOf,
  operationAt,
  type Success,
  successOf,
} from "./described-operation.ts";
import { readId } from "./id.ts";
import { ContractError, type Place } from "./place.ts";

/** The parts of a collection that decide whether it can be served. */
export interface Collection {
  readonly path: string;
  readonly operation: DescribedOperation;
  /** The JSON of the body. */
  readonly media: Place;
  readonly body: ObjectSchema;
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
  const body = readObjectSchema(media.at("schema"));
  const success = successOf(operation, ["200", "201", "204"]);
  if (success === undefined) throw place.error("its POST must describe a response 200, 201 or 204");
  const returned = success.schema && readObjectSchema(success.schema);
  const named = /\{(.*)\}/.exec(itemPathOf(root, path)?.slice(path.length) ?? "")?.[1];
  const id = await readId(path, { body, returned, named }, checks);
  return { path, operation, media, body, id, success };
}

/** The path of one resource of a collection, as it is described; undefined if it is not. */
export function itemPathOf(root: Place, collection: string): string | undefined {
  return root.at("paths").members.find(([path]) => isItemOf(collection, path))?.[0];
}
