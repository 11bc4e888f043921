// The operations of a description: which are served, and what of them is not.

import type {
  Contract,
  EditOperation,
  ListShape,
  OperationName,
  OtherOperation,
  ServedOperation,
  Words,
} from "../contract.ts";
import { type ErrorShape, errorShapeOf, isSameShape, ownErrorShape } from "../error-shape.ts";
import { isObject, type Json, propertiesOf, requiredOf } from "../schema/schemas.ts";
import { type Access, readSecurity } from "../security.ts";
import { operationName } from "../words.ts";
import type { Collection } from "./collection.ts";
import {
  type DescribedOperation,
  isItemOf,
  isJson,
  isPatchBody,
  jsonOf,
  methods,
  operationAt,
  type Success,
  successOf,
  titleOf,
} from "./described-operation.ts";
import { readEditShape } from "./edit-shape.ts";
import { ownListShape, readListShape } from "./list-shape.ts";
import type { Place } from "./place.ts";

/** The members that every response has, and that some have. */
interface ReturnedMembers {
  readonly always: readonly string[];
  readonly sometimes: readonly string[];
}

/** The header fields that successes have, in lower case. */
const sentHeaders: readonly string[] = [
  "cache-control",
  "content-type",
  "etag",
  "link",
  "location",
  "ratelimit",
  "ratelimit-policy",
  "x-request-id",
];

/** Reads all operations, and notes those parts of them that are not served. */
export function readOperations(
  root: Place,
  create: Collection,
  returned: ReturnedMembers,
  { one, many }: Words,
): Pick<Contract, "operations" | "list" | "others" | "errorShape"> {
  const post = create.operation;
  const operations: { -readonly [Name in keyof Contract["operations"]]: Contract["operations"][Name] } = {
    create: {
      operationId: nameOf(post, operationName("create", one)),
      status: create.success.status,
      access: readAccess(post, root),
    },
  };
  const others: OtherOperation[] = [];
  const served = [post];
  noteRequest(post, create.id.isRequired ? [] : ["idempotency-key"]);
  let list = ownListShape;
  for (const operation of otherOperations(root, create.path)) {
    const name = knownName(operation, create.path);
    const shape = name === "list" ? listShapeOf(operation, returned) : list;
    const found = typeof shape === "string" ? shape : name && readServed(name, operation, create, returned);
    if (name === undefined || typeof shape === "string" || typeof found !== "object") {
      const method = operation.method.toUpperCase() as OtherOperation["method"];
      others.push({ method, path: operation.path });
      const reason = found === undefined ? "" : `, as ${found}`;
      operation.place.note(`${titleOf(operation)} is not served${reason}: it responds with 501`);
      continue;
    }
    const operationId = nameOf(operation, operationName(name, name === "list" ? many : one));
    Object.assign(operations, { [name]: { operationId, access: readAccess(operation, root), ...found } });
    served.push(operation);
    list = shape;
    noteRequest(operation, name === "list" ? ["limit", shape.paging] : ["if-match", "if-none-match"]);
  }
  if (root.at("webhooks").object) root.at("webhooks").note("webhooks are not sent");
  const callbacks = post.place.at("callbacks");
  if (callbacks.object) callbacks.note("callbacks are not sent");
  return { operations, list, others, errorShape: readResponses(served) };
}

/** Yields all operations except the create. Notes those with methods that are never served. */
function* otherOperations(root: Place, collection: string): Generator<DescribedOperation> {
  for (const [path, item] of root.at("paths").members) {
    for (const method of ["head", "options", "trace"])
      if (item.at(method).value !== undefined)
        item.at(method).note(`${method.toUpperCase()} ${path} is not served`);
    if (item.at("servers").value !== undefined) item.at("servers").note("the servers of a path are not used");
    for (const method of methods)
      if (item.at(method).value !== undefined && (path !== collection || method !== "post"))
        yield operationAt(item, path, method);
  }
}

/** The success of an operation that is served as it is described, or why it is not. */
function readServed(
  name: Exclude<OperationName, "create">,
  operation: DescribedOperation,
  create: Collection,
  returned: ReturnedMembers,
): Pick<ServedOperation, "status"> | string {
  if (name === "replace" || name === "change") return readEdit(name, operation, create, returned);
  const statuses = name === "delete" ? ["204", "200"] : ["200"];
  const success = successOf(operation, statuses);
  if (success === undefined) return `it describes no response ${statuses.join(" or ")}`;
  if (name === "delete" && success.schema !== undefined) return "its response has a body";
  const fault = name === "get" ? faultOfSuccess(success, returned) : undefined;
  return fault ?? { status: success.status };
}

function readEdit(
  name: "replace" | "change",
  operation: DescribedOperation,
  { schema: created, id }: Collection,
  returned: ReturnedMembers,
): Omit<EditOperation, "operationId" | "access"> | string {
  const own = successOf(operation, ["200", "204"]);
  if (own === undefined) return "it describes no response 200 or 204";
  const creation = name === "replace" ? successOf(operation, ["201"]) : undefined;
  const successes: Record<number, boolean> = {};
  for (const success of [own, creation]) {
    if (success === undefined) continue;
    const fault = faultOfSuccess(success, returned);
    if (fault !== undefined) return fault;
    successes[success.status] = success.hasContent;
  }
  const body = jsonOf(operation.place.at("requestBody"), name === "change" ? isPatchBody : isJson);
  if (body === undefined) return "it describes no body of JSON";
  const shape = readEditShape(name, body.at("schema").schema(), { created, idName: id.name });
  return typeof shape === "string" ? shape : { status: own.status, successes, ...shape };
}

function faultOfSuccess({ schema }: Success, returned: ReturnedMembers): string | undefined {
  return schema && faultOfResource(schema.schema(), returned);
}

/** The shape of a list whose response is described, or why it cannot be served. */
function listShapeOf(operation: DescribedOperation, returned: ReturnedMembers): ListShape | string {
  const schema = successOf(operation, ["200"])?.schema?.schema();
  const parameters = new Map<string, Json>();
  for (const parameter of operation.parameters) {
    const described = parameter.at("schema").object;
    if (parameter.at("in").value === "query" && described !== undefined)
      parameters.set(String(parameter.at("name").value), described);
  }
  const shape = readListShape(schema, parameters);
  if (typeof shape === "string" || schema === undefined) return shape;
  const member = shape.members?.find(([, holds]) => holds === "plants")?.[0];
  const array = member === undefined ? schema : propertiesOf(schema)[member];
  const items = isObject(array) ? array.items : undefined;
  return (isObject(items) ? faultOfResource(items, returned) : undefined) ?? shape;
}

/** Notes the parameters that are not served, and the bodies that are not read. */
function noteRequest(operation: DescribedOperation, served: readonly string[]): void {
  for (const place of operation.parameters) {
    const { in: where, name } = place.object ?? {};
    const known = where === "header" ? String(name).toLowerCase() : String(name);
    if (place.object === undefined || where === "path" || served.includes(known)) continue;
    place.note(`the ${where} parameter ${name} of ${titleOf(operation)} is not served`);
  }
  const isRead = operation.method === "patch" ? isPatchBody : isJson;
  for (const [type, body] of operation.place.at("requestBody", "content").members)
    if (!isRead(type)) body.note(`a body of ${type} is not read`);
}

/** How callers identify themselves, as the operation or the whole description says. */
function readAccess({ place }: DescribedOperation, root: Place): Access {
  const security = [place, root].map((each) => each.at("security")).find(({ value }) => value !== undefined);
  const schemes = root.at("components", "securitySchemes");
  const { access, accepted, refused } = readSecurity(security?.value, (name) => schemes.at(name).object);
  const instead = accepted.length === 0 ? "; a bearer token is needed instead" : "";
  for (const name of refused) security?.note(`the security of ${name} is not accepted${instead}`);
  return access;
}

/** The shape of errors: the first one that is described and can be served. */
function readResponses(served: readonly DescribedOperation[]): ErrorShape {
  const shapes: { readonly response: Place; readonly shape: ErrorShape | string }[] = [];
  for (const [status, response] of served.flatMap(({ place }) => place.at("responses").members)) {
    if (status.startsWith("2")) noteSuccess(response);
    const shape = /^(?:[45]|default$)/.test(status) ? readErrorShape(response) : undefined;
    if (shape !== undefined) shapes.push({ response, shape });
  }
  const fitting = shapes.map(({ shape }) => shape).filter((shape) => typeof shape !== "string");
  const chosen = fitting[0] ?? ownErrorShape;
  const names = chosen.members.map(([name]) => JSON.stringify(name)).join(", ");
  const other = shapes.find(({ shape }) => typeof shape === "string" || !isSameShape(shape, chosen));
  if (other !== undefined) {
    const reason = typeof other.shape === "string" ? `, as nothing fits "${other.shape}" here` : "";
    other.response.note(`errors have the members ${names}, whatever is described${reason}`);
  }
  return chosen;
}

/**
 * The shape of a described error, or the name of a required member that nothing fits; undefined for
 * a failure without JSON.
 */
function readErrorShape(response: Place): ErrorShape | string | undefined {
  const isError = ([type]: readonly [string, Place]) => /^application\/(?:problem\+)?json\b/i.test(type);
  const [type, media] = response.at("content").members.find(isError) ?? [];
  const schema = media?.at("schema");
  if (type === undefined || !isObject(schema?.value)) return undefined;
  return errorShapeOf(schema.schema(), type, schema.value);
}

function noteSuccess(response: Place): void {
  for (const [type, content] of response.at("content").members)
    if (!isJson(type)) content.note(`a response of ${type} is not sent`);
  for (const [name, header] of response.at("headers").members)
    if (!sentHeaders.includes(name.toLowerCase())) header.note(`the header field ${name} is not sent`);
}

/** Why a schema does not describe what is stored; undefined if it does. */
function faultOfResource(schema: Json, { always, sometimes }: ReturnedMembers): string | undefined {
  if (schema.type !== "object" && !isObject(schema.properties)) return "its response is no object";
  const missing = requiredOf(schema).find((name) => !(always as readonly unknown[]).includes(name));
  if (missing !== undefined) return `its response requires "${missing}"`;
  const described = propertiesOf(schema);
  const surplus = [...always, ...sometimes].find((name) => !Object.hasOwn(described, name));
  const isClosed = schema.additionalProperties === false && surplus !== undefined;
  return isClosed ? `its response may not have "${surplus}"` : undefined;
}

/** The name of an operation of the collection; undefined for any other operation. */
function knownName(
  { method, path }: DescribedOperation,
  collection: string,
): Exclude<OperationName, "create"> | undefined {
  if (path === collection) return method === "get" ? "list" : undefined;
  if (!isItemOf(collection, path) || method === "post") return undefined;
  return ({ get: "get", put: "replace", patch: "change", delete: "delete" } as const)[method];
}

function nameOf({ place }: DescribedOperation, fallback: string): string {
  const { value } = place.at("operationId");
  return typeof value === "string" && value !== "" ? value : fallback;
}
