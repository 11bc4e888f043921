// The collection of a description that is served: its path, its POST, and the id of its resource.

import type { Contract } from "../contract.ts";
import { idFormatOf, idTypeOf } from "../plant-id.ts";
import {
  isObject,
  isReadOnly,
  type Json,
  propertiesOf,
  requiredOf,
  unsupportedKeyword,
} from "../schema/schemas.ts";
import { contextAt } from "../schema/type-context.ts";
import {
  type DescribedOperation,
  isItemOf,
  jsonOf,
  jsonType,
  operationAt,
  type Success,
  successOf,
} from "./described-operation.ts";
import type { Place } from "./place.ts";

/** The parts of a collection that decide whether it can be served. */
export interface Collection {
  readonly path: string;
  readonly operation: DescribedOperation;
  /** The JSON of the body. */
  readonly body: Place;
  /** The schema of the body, with its references replaced. */
  readonly schema: Json;
  readonly id: Contract["id"];
  readonly success: Success;
  /** The schema of the response to the create; undefined if it is not described. */
  readonly returned: Json | undefined;
}

/**
 * Finds the only collection of a description, or the one with the wanted path. Rejects with an
 * OperatorError.
 */
export async function findCollection(root: Place, wanted: string | undefined): Promise<Collection> {
  const paths = root.at("paths");
  const found: Collection[] = [];
  const reasons: unknown[] = [];
  for (const [path, item] of paths.members) {
    if (path.includes("{") || path !== (wanted ?? path) || item.at("post").value === undefined) continue;
    try {
      found.push(await readCollection(root, operationAt(item, path, "post")));
    } catch (error) {
      reasons.push(error);
    }
  }
  const [collection, ...others] = found;
  if (others.length > 0) {
    const all = found.map(({ path }) => path).join(", ");
    throw paths.error(`it has several collections; choose one of ${all} with --collection`);
  }
  if (collection !== undefined) return collection;
  if (reasons.length > 0) throw reasons[0];
  throw paths.error(
    wanted === undefined ? "it has no POST whose body is the resource" : `it has no POST of ${wanted}`,
  );
}

async function readCollection(root: Place, operation: DescribedOperation): Promise<Collection> {
  const { path, place } = operation;
  const requestBody = place.at("requestBody");
  const body = jsonOf(requestBody);
  if (body === undefined) throw requestBody.error(`the POST of ${path} has no body of ${jsonType}`);
  const bodySchema = body.at("schema");
  const schema = bodySchema.schema();
  if (!isObject(schema.properties))
    throw bodySchema.error(`the body of POST ${path} must be an object with properties`);
  const keyword = unsupportedKeyword(schema);
  if (keyword !== undefined) throw bodySchema.error(`the keyword ${keyword} of the body is not supported`);
  if (schema.type !== undefined && schema.type !== "object")
    throw bodySchema.error(`the body of POST ${path} must be an object`);
  const success = successOf(operation, ["200", "201", "204"]);
  if (success === undefined) throw place.error("its POST must describe a response 200, 201 or 204");
  const returned = isObject(success.schema?.value) ? success.schema.schema() : undefined;
  if (returned !== undefined && returned.type !== "object" && !isObject(returned.properties))
    throw success.place.error("the response of the POST must be an object");
  const item = Object.keys(root.at("paths").object ?? {}).find((each) => isItemOf(path, each));
  const named = item?.slice(path.length + 2, -1);
  const id = await readId(operation, { schema, returned, named, place: bodySchema });
  return { path, operation, body, schema, id, success, returned };
}

/**
 * Reads the property of the body or the response that the parameter of path/{…} names, or else
 * "id".
 */
async function readId(
  { path }: DescribedOperation,
  {
    schema,
    returned = {},
    named = "id",
    place,
  }: {
    readonly schema: Json;
    readonly returned: Json | undefined;
    readonly named: string | undefined;
    /** The place of the body's schema. */
    readonly place: Place;
  },
): Promise<Contract["id"]> {
  const [sent, answered] = [schema, returned].map(propertiesOf) as [Json, Json];
  const name = [named, "id"].find((each) => Object.hasOwn(sent, each) || Object.hasOwn(answered, each));
  if (name === undefined)
    throw place.error(`the resource of POST ${path} must have an id, in the body or in the response`);
  const isSent = Object.hasOwn(sent, name);
  const own = (isSent ? sent : answered)[name];
  const at = place.at("properties", name);
  if (!isObject(own)) throw at.error(`the property "${name}" must have a schema`);
  const type = await idTypeOf(own, contextAt(at, name));
  const format = idFormatOf(type);
  const isAccepted = isSent && !isReadOnly(own);
  const isRequired = isAccepted && requiredOf(schema).includes(name);
  if (!isRequired && format === undefined)
    throw place.error(
      `the ${name} of POST ${path} must be required, or one that the server can make: any positive int64, a UUID, or a string of 26 characters`,
    );
  return { name, type, schema: own, format, isRequired, isAccepted };
}
