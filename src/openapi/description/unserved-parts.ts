// Notes the parts of a description that are not read, so that nothing is ignored silently.

import { isObject, type Json } from "../../json/json-values.ts";
import { contractErrorOf, type Place } from "../document/place.ts";
import { restrictsAlike } from "../schema/restrictions.ts";
import { type DescribedOperation, isJson, isPatchBody, titleOf } from "./described-operation.ts";
import { expandSchema } from "./expanded-schema.ts";

/**
 * The use of a member of an object: it is read elsewhere, or shown as it is (undefined), is an
 * object of a kind, an array or a map of such objects, or is not served, for which there is a
 * sentence.
 */
type Use =
  | undefined
  | { readonly kind: ObjectKind; readonly of?: "items" | "members" }
  | { readonly note: string };

type ObjectKind = keyof typeof kinds;

/** Members that are read or shown as they are. */
const read = (...names: string[]): Record<string, Use> =>
  Object.fromEntries(names.map((name) => [name, undefined]));

/** The members of the objects of OpenAPI 3.0 to 3.2. Schemas have a reader of their own. */
const kinds = {
  document: {
    ...read("openapi", "info", "paths", "components", "security", "tags", "externalDocs", "$self"),
    jsonSchemaDialect: { note: "the dialect of schemas is not read; it is that of OpenAPI" },
    servers: { kind: "server", of: "items" },
    webhooks: { note: "webhooks are not sent" },
  },
  server: {
    ...read("url", "description", "name"),
    variables: { kind: "serverVariable", of: "members" },
  },
  serverVariable: read("enum", "default", "description"),
  pathItem: {
    ...read("$ref", "summary", "description", "parameters", "additionalOperations"),
    ...read("get", "put", "post", "delete", "patch", "head", "options", "trace", "query"),
    servers: { note: "the servers of a path are not used" },
  },
  operation: {
    ...read("tags", "summary", "description", "externalDocs", "operationId", "deprecated", "security"),
    parameters: { kind: "parameter", of: "items" },
    requestBody: { kind: "requestBody" },
    responses: { kind: "response", of: "members" },
    callbacks: { note: "callbacks are not sent" },
    servers: { note: "the servers of an operation are not used" },
  },
  parameter: {
    ...read("name", "in", "description", "required", "deprecated", "schema", "example"),
    ...read("style", "explode", "allowReserved", "allowEmptyValue"),
    examples: { kind: "example", of: "members" },
    content: { note: "the content of a parameter is not read" },
  },
  requestBody: {
    ...read("description", "required"),
    content: { kind: "mediaType", of: "members" },
  },
  response: {
    ...read("summary", "description", "links"),
    headers: { kind: "parameter", of: "members" },
    content: { kind: "mediaType", of: "members" },
  },
  mediaType: {
    ...read("schema", "example"),
    examples: { kind: "example", of: "members" },
    encoding: { note: "the encoding of a media type is not read" },
    prefixEncoding: { note: "the encoding of a media type is not read" },
    itemEncoding: { note: "the encoding of a media type is not read" },
    itemSchema: { note: "sequences of items are not sent" },
  },
  example: {
    ...read("summary", "description", "value", "dataValue", "serializedValue"),
    externalValue: { note: "an example elsewhere is not read" },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Notes what keeps a part from being looked at, such as a reference to another file. */
function notingFaults(place: Place, look: () => void): void {
  try {
    look();
  } catch (error) {
    place.note(`it is not read, as ${contractErrorOf(error).problem}`);
  }
}

/** Notes the members of the object at a place, and below it, that are not read. */
function noteMembers(place: Place, kind: ObjectKind): void {
  if (place.value !== undefined) notingFaults(place, () => noteOwnMembers(place.target, kind));
}

function noteOwnMembers(target: Place, kind: ObjectKind): void {
  if (!isObject(target.value)) {
    target.note("it must be an object, and is not read");
    return;
  }
  const members: Readonly<Record<string, Use>> = kinds[kind];
  for (const [name, member] of target.members) {
    if (name.startsWith("x-")) continue;
    if (!Object.hasOwn(members, name)) {
      member.note(`the member ${JSON.stringify(name)} is not known, and not read`);
      continue;
    }
    const use = members[name];
    if (use === undefined) continue;
    if ("note" in use) member.note(use.note);
    else if (use.of === "items") for (const item of member.items) noteMembers(item, use.kind);
    else if (use.of === "members")
      for (const [key, each] of member.members) {
        if (!key.startsWith("x-")) noteMembers(each, use.kind);
      }
    else noteMembers(member, use.kind);
  }
}

/** Notes what is not read of the description as a whole, and of its paths. */
export function noteDocument(root: Place): void {
  noteMembers(root, "document");
  for (const [path, item] of root.at("paths").members)
    if (!path.startsWith("x-")) noteMembers(item, "pathItem");
}

/** The header fields that OpenAPI describes elsewhere, in lower case. */
const describedElsewhere: readonly string[] = ["accept", "authorization", "content-type"];

/**
 * Notes what is not served of an operation that is served otherwise.
 *
 * @param served the parameters that are served; those of the header are in lower case.
 * @param idSchema that of the ids in its path.
 */
export function noteOperation(
  operation: DescribedOperation,
  served: readonly string[],
  idSchema: Json,
): void {
  noteMembers(operation.place, "operation");
  notingFaults(operation.place, () => noteUnserved(operation, served, idSchema));
}

function noteUnserved(operation: DescribedOperation, served: readonly string[], idSchema: Json): void {
  noteParameters(operation, served, idSchema);
  const isRead = operation.method === "patch" ? isPatchBody : isJson;
  for (const [type, body] of operation.place.at("requestBody", "content").members)
    if (!isRead(type)) body.note(`a body of ${type} is not read`);
  for (const [status, response] of operation.place.at("responses").members)
    if (/^[23]/.test(status)) noteSuccess(response);
}

function noteParameters(operation: DescribedOperation, served: readonly string[], idSchema: Json): void {
  for (const place of operation.parameters) {
    const { in: where, name } = place.object ?? {};
    const schema = place.at("schema");
    if (where === "path" && schema.object !== undefined && isLimited(expandSchema(schema), idSchema))
      schema.note("the schema of a parameter of the path is not checked; an id is what the resource has");
    const known = where === "header" ? String(name).toLowerCase() : String(name);
    const isKnown = served.includes(known) || (where === "header" && describedElsewhere.includes(known));
    if (place.object === undefined || where === "path" || isKnown) continue;
    place.note(`the ${where} parameter ${name} of ${titleOf(operation)} is not served`);
  }
}

/** Whether a parameter limits ids in a way that the resource does not. Its type is that of a text. */
function isLimited(
  { type: _, format: __, ...limits }: Json,
  { type: ___, format: ____, ...own }: Json,
): boolean {
  return !restrictsAlike(limits, {}) && !restrictsAlike(limits, own);
}

/** The header fields that successes have, in lower case. */
const sentHeaders: readonly string[] = [
  ...["cache-control", "content-type", "etag", "link", "location"],
  ...["ratelimit", "ratelimit-policy", "x-request-id"],
];

function noteSuccess(response: Place): void {
  for (const [type, content] of response.at("content").members)
    if (!isJson(type)) content.note(`a response of ${type} is not sent`);
  for (const [name, header] of response.at("headers").members)
    if (!sentHeaders.includes(name.toLowerCase())) header.note(`the header field ${name} is not sent`);
}
