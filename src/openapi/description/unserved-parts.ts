// Notes the parts of a description that are not read, so that nothing is ignored silently.

import { isObject, type Json } from "../../json/json-values.ts";
import { contractErrorOf, type Place } from "../document/place.ts";
import { restrictsAlike } from "../schema/restrictions.ts";
import { type DescribedOperation, isJson, isPatchBody, titleOf } from "./described-operation.ts";
import { expandSchema } from "./expanded-schema.ts";

/** The use of a member that is not only read: a sentence if it is not served, or the objects in it. */
type Use = string | { readonly kind: ObjectKind; readonly of: "member" | "items" | "members" };

/** The members of a kind of object that are read elsewhere or shown as they are, and the others. */
interface Kind {
  readonly read: string;
  readonly others?: Readonly<Record<string, Use>>;
}

type ObjectKind =
  | ("document" | "server" | "serverVariable" | "pathItem" | "operation" | "parameter")
  | ("requestBody" | "response" | "mediaType" | "example");

const items = (kind: ObjectKind): Use => ({ kind, of: "items" });
const members = (kind: ObjectKind): Use => ({ kind, of: "members" });
const noEncoding = "the encoding of a media type is not read";

/** The objects of OpenAPI 3.0 to 3.2. Schemas have a reader of their own. */
const kinds: Readonly<Record<ObjectKind, Kind>> = {
  document: {
    read: "openapi info paths components security tags externalDocs $self",
    others: {
      jsonSchemaDialect: "the dialect of schemas is not read; it is that of OpenAPI",
      servers: items("server"),
      webhooks: "webhooks are not sent",
    },
  },
  server: { read: "url description name", others: { variables: members("serverVariable") } },
  serverVariable: { read: "enum default description" },
  pathItem: {
    read: "$ref summary description parameters additionalOperations get put post delete patch head options trace query",
    others: { servers: "the servers of a path are not used" },
  },
  operation: {
    read: "tags summary description externalDocs operationId deprecated security",
    others: {
      parameters: items("parameter"),
      requestBody: { kind: "requestBody", of: "member" },
      responses: members("response"),
      callbacks: "callbacks are not sent",
      servers: "the servers of an operation are not used",
    },
  },
  parameter: {
    read: "name in description required deprecated schema example style explode allowReserved allowEmptyValue",
    others: { examples: members("example"), content: "the content of a parameter is not read" },
  },
  requestBody: { read: "description required", others: { content: members("mediaType") } },
  response: {
    read: "summary description links",
    others: { headers: members("parameter"), content: members("mediaType") },
  },
  mediaType: {
    read: "schema example",
    others: {
      examples: members("example"),
      encoding: noEncoding,
      prefixEncoding: noEncoding,
      itemEncoding: noEncoding,
      itemSchema: "sequences of items are not sent",
    },
  },
  example: {
    read: "summary description value dataValue serializedValue",
    others: { externalValue: "an example elsewhere is not read" },
  },
};

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
  if (place.value !== undefined) notingFaults(place, () => noteOwnMembers(place.target, kinds[kind]));
}

function noteOwnMembers(target: Place, { read, others = {} }: Kind): void {
  if (!isObject(target.value)) target.note("it must be an object, and is not read");
  for (const [name, member] of target.members) {
    if (name.startsWith("x-") || read.split(" ").includes(name)) continue;
    const use = Object.hasOwn(others, name)
      ? others[name]
      : `the member ${JSON.stringify(name)} is not known, and not read`;
    if (typeof use === "string") member.note(use);
    else if (use?.of === "member") noteMembers(member, use.kind);
    else if (use?.of === "items") for (const item of member.items) noteMembers(item, use.kind);
    else if (use !== undefined)
      for (const [key, each] of member.members) if (!key.startsWith("x-")) noteMembers(each, use.kind);
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
