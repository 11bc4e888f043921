// Reads the operations of a description: which are served, and what of them is not.

import {
  type CheckedParameter,
  type Collection,
  type DeleteOperation,
  type EditBody,
  type EditOperation,
  type ListShape,
  type OperationName,
  type OtherOperation,
  ownListShape,
  type Representation,
  type ServedOperation,
  type Words,
  wholeOf,
} from "../../contract/contract.ts";
import type { ErrorShape } from "../../contract/error-format.ts";
import { operationName } from "../../contract/words.ts";
import { encodePath, pathShape } from "../../json/percent-encoding.ts";
import {
  type ContractError,
  contractErrorOf,
  type Place,
  readableAsync,
  schemaName,
} from "../document/place.ts";
import { readObjectSchema, readOnlyNames } from "./body-schema.ts";
import { checkOf } from "./checks.ts";
import type { DescribedCollection } from "./collection.ts";
import {
  collectionPath,
  type DescribedOperation,
  describedOperations,
  describedSuccess,
  isItemOf,
  isJson,
  isPatchBody,
  isReadablePath,
  jsonMediaOf,
  type Success,
  successOf,
  titleOf,
} from "./described-operation.ts";
import { pathsOf } from "./described-paths.ts";
import { errorFormatOf } from "./error-shapes.ts";
import { expandSchema } from "./expanded-schema.ts";
import { valueTypes } from "./field-type.ts";
import type { DescribedList } from "./list-shape.ts";
import {
  constantOf,
  hasProperties,
  memberJson,
  type Resource,
  readRepresentation,
  readSuccess,
  wrappingMember,
} from "./representations.ts";
import { accessWithoutNotes, isHeaderName, readAccess } from "./security.ts";
import { noteOperation } from "./unserved-parts.ts";

/** State of reading one description. */
export interface Reading {
  readonly root: Place;
  /** The pointers of the operations that are served. */
  readonly served: Set<string>;
  /** Why others cannot be, by their pointers. */
  readonly faults: Map<string, ContractError>;
}

interface CollectionParts {
  readonly described: DescribedCollection;
  readonly resource: Resource;
  readonly words: Words;
  /** The shape of errors that an operation does not describe. */
  readonly common: ErrorShape;
}

/**
 * Reads the operations of a collection, and notes what of them is not served. Rejects with a
 * ContractError if the create cannot be.
 */
export async function readOperations(
  reading: Reading,
  collection: CollectionParts,
): Promise<Pick<Collection, "operations" | "list">> {
  const { path, operation: create } = collection.described;
  const operations: Record<string, ServedOperation> = {
    create: await readOperation("create", create, reading, collection),
  };
  let list = ownListShape;
  for (const operation of operationsOf(reading.root, path)) {
    const name = knownName(operation, path);
    if (name === undefined || Object.hasOwn(operations, name)) continue;
    try {
      const { shape, ...served } = await readOperation(name, operation, reading, collection);
      list = shape ?? list;
      operations[name] = served;
    } catch (error) {
      reading.faults.set(operation.place.pointer, contractErrorOf(error));
    }
  }
  return { operations: operations as unknown as Collection["operations"], list };
}

/** The operations of a collection and of its resources. */
export function operationsOf(root: Place, collection: string): DescribedOperation[] {
  return describedOperations(root, pathsOf(root, collection));
}

/** The header fields of conditions, which every operation of one resource serves. */
const conditions: readonly string[] = ["if-match", "if-none-match"];

/** Reads an operation. Rejects with a ContractError if it cannot be served. */
async function readOperation(
  name: OperationName,
  operation: DescribedOperation,
  { served }: Reading,
  collection: CollectionParts,
): Promise<ServedOperation & { readonly shape?: ListShape }> {
  const { described, words, common } = collection;
  const { parameters = conditions, ...part } = await readPart(name, operation, collection);
  const access = readAccess(operation.place);
  const errors = errorFormatOf(operation, common);
  const checked = await checkedParameters(operation, parameters);
  const required = checked.filter((each) => each.in === "header" && each.isRequired);
  const known = [...parameters, ...required.map((each) => each.name.toLowerCase())];
  noteOperation(operation, known, described.id.schema);
  served.add(operation.place.pointer);
  const fallback = operationName(name, name === "list" ? words.many : words.one);
  return {
    operationId: nameOf(operation, fallback),
    path: encodePath(isItemOf(described.path, operation.path) ? pathOfOne(operation.path) : operation.path),
    access,
    errors,
    describesMissing: operation.place.at("responses", "404").value !== undefined,
    checked: checked.length === 0 ? undefined : checked,
    ...part,
  };
}

/** The operations of a description that are not served. Notes them, and why. */
export function readOthers({ root, served, faults }: Reading): OtherOperation[] {
  const paths = root.at("paths").members.filter(([path, item]) => isReadablePath(path, item));
  for (const [path, item] of paths) noteMethods(path, item);
  noteSamePaths(paths);
  const seen = new Set<string>();
  return describedOperations(root).flatMap((operation) => {
    const { method, path, place } = operation;
    const route = `${method} ${pathShape(path)}`;
    const isFirst = !seen.has(route);
    seen.add(route);
    if (served.has(place.pointer) || !isFirst) return [];
    // RFC 9110, section 9.3.2: the GET that is served responds to HEAD, too.
    if (method === "head" && served.has(place.pointer.replace(/head$/, "get"))) return [];
    place.note(`${titleOf(operation)} is not served${reasonFrom(place, faults.get(place.pointer))}`);
    const access = accessWithoutNotes(place);
    return [{ method: method.toUpperCase() as OtherOperation["method"], path, access }];
  });
}

function reasonFrom({ pointer }: Place, fault: ContractError | undefined): string {
  if (fault === undefined) return ", as it is none of a collection: it responds with 501";
  const where = fault.pointer.startsWith(pointer) ? "" : `; see ${fault.origin}`;
  return `, as ${fault.problem}: it responds with 501${where}`;
}

/** Notes the paths that differ from an earlier one in the names of their parameters alone. */
function noteSamePaths(paths: readonly (readonly [path: string, item: Place])[]): void {
  const firsts = new Map<string, string>();
  for (const [path, item] of paths) {
    const shape = pathShape(path);
    const first = firsts.get(shape);
    if (first === undefined) firsts.set(shape, path);
    else item.note(`${path} is the same path as ${first}, whose operations go first`);
  }
}

/** Notes the methods of a path that are never served. */
function noteMethods(path: string, item: Place): void {
  const query = item.at("query");
  if (query.value !== undefined) query.note(`QUERY ${path} is not served`);
  for (const [method, each] of item.at("additionalOperations").members)
    each.note(`${method} ${path} is not served`);
}

/** Fields of the header with a meaning of their own. */
const ownFields = /^(?:accept|authorization|content-type|idempotency-key)$/i;

/**
 * Reads the parameters that an operation only checks: header fields, and scalars of the query.
 *
 * @param served the names of those that have an effect.
 */
async function checkedParameters(
  { parameters }: DescribedOperation,
  served: readonly string[],
): Promise<CheckedParameter[]> {
  const found: CheckedParameter[] = [];
  for (const place of parameters) {
    const { in: where, required, name } = place.object ?? {};
    const schema = place.at("schema");
    const isRequired = required === true;
    const isCondition = conditions.includes(String(name).toLowerCase()) && !isRequired;
    const isField = where === "header" && isHeaderName(name) && !ownFields.test(name) && !isCondition;
    const isInQuery = where === "query" && typeof name === "string" && !served.includes(name);
    if (!(isField || isInQuery) || schema.value === undefined) continue;
    if (found.some((each) => each.in === where && each.name === name)) continue;
    const read = async () => ({ types: valueTypes(expandSchema(schema)), check: await checkOf(schema) });
    const own = isRequired && isField ? await read() : await readableAsync(read);
    const isScalar = own !== undefined && !own.types.has("object") && !own.types.has("array");
    if (isScalar || (own !== undefined && isRequired && isField))
      found.push({ in: where, name, isRequired, check: own.check });
  }
  return found;
}

/** The parts of one kind of operation, and its parameters, those of the header in lower case. */
type OperationPart = Pick<ServedOperation, "status" | "response"> &
  Partial<Pick<DescribedList, "shape" | "parameters">> &
  Partial<Pick<EditOperation, "body" | "successes"> & Pick<DeleteOperation, "content">>;

/**
 * Reads what is particular to an operation. Rejects with a ContractError if it cannot be served.
 */
async function readPart(
  name: OperationName,
  operation: DescribedOperation,
  { described, resource, words }: CollectionParts,
): Promise<OperationPart> {
  if (name === "create") {
    const { status } = described.success;
    const parameters = described.id.isRequired ? [] : ["idempotency-key"];
    return { status, response: await readSuccess(described.success, resource), parameters };
  }
  const statuses = {
    list: ["200"],
    get: ["200"],
    delete: ["204", "200"],
    replace: ["200", "204"],
    change: ["200", "204"],
  };
  const success = successOf(operation, statuses[name]);
  const { status } = success;
  if (name === "list") {
    // Loaded late, as many contracts have no list.
    const { readList } = await import("./list-shape.ts");
    return { status, ...(await readList(operation, success, resource)) };
  }
  if (name === "get")
    return { status, response: (await readSuccess(success, resource)) ?? wholeOf(resource) };
  if (name === "delete") return { status, ...(await readDeletion(success, resource, words.one)) };
  const creation = name === "replace" ? describedSuccess(operation, ["201"]) : undefined;
  const successes: Record<number, Representation | undefined> = {};
  for (const each of [success, creation])
    if (each !== undefined) successes[each.status] = await readSuccess(each, resource);
  const body = await readEditBody(name, operation, { ...resource, words, wrapper: described.wrapper });
  return { status, response: successes[status], successes, body };
}

/** Reads the body of a replacement or a change. Rejects with a ContractError. */
async function readEditBody(
  name: "replace" | "change",
  operation: DescribedOperation,
  { id, fields, words, wrapper }: Resource & Pick<Collection, "words" | "wrapper">,
): Promise<EditBody> {
  const requestBody = operation.place.at("requestBody");
  const media = jsonMediaOf(requestBody, name === "change" ? isPatchBody : isJson)?.[1];
  if (media === undefined) throw requestBody.error("it describes no body of JSON");
  const described = media.at("schema");
  const sent = readObjectSchema(described);
  const inner = wrapper === undefined ? undefined : sent.properties.get(wrapper);
  const object = inner === undefined ? sent : readObjectSchema(inner.place);
  const schema = object.place;
  const ignored = readOnlyNames(object);
  const members: string[] = [];
  for (const [property, { isRequired, place }] of object.properties) {
    if (property === id.name || ignored.includes(property)) continue;
    if (fields.some((field) => field.name === property)) members.push(property);
    else if (isRequired) throw schema.error(`its body requires "${property}", which is not kept`);
    else place.note(`"${property}" is not kept`);
  }
  const others = fields.find(({ isOthers }) => isOthers);
  if (others !== undefined && object.others.length > 0) members.push(others.name);
  // A schema that names nothing takes everything.
  if (object.isFree) for (const { name: field } of fields) members.push(field);
  const own = schemaName(described);
  return {
    name: own ?? (name === "change" ? `merge patch of ${words.one}` : words.body),
    members,
    ignored,
    wrapper: inner === undefined ? undefined : wrapper,
    check: await checkOf(schema, { hidden: ignored }),
  };
}

/** Names of members of the response to a deletion that say that it is done. */
const messageNames = /^(?:message|msg|detail|description|result|status)$/i;
const doneNames = /^(?:success|ok|deleted|done|acknowledged)$/i;

/**
 * The success of a deletion: the resource as it was, or JSON that says that it is gone. Rejects with
 * a ContractError.
 */
async function readDeletion(
  { schema: place, hasContent }: Success,
  resource: Resource,
  one: string,
): Promise<Pick<DeleteOperation, "response" | "content">> {
  if (!hasContent || place === undefined) return { response: undefined, content: undefined };
  const message = JSON.stringify(`The ${one} was deleted.`);
  if (!hasProperties(place)) {
    const types = valueTypes(expandSchema(place));
    const contents = Object.entries({ object: "{}", string: message, null: "null" });
    const content = contents.find(([type]) => types.has(type))?.[1] ?? "true";
    return { response: undefined, content };
  }
  const object = readObjectSchema(place);
  const names = resource.fields.map(({ name }) => name);
  const isResource = names.some((name) => object.properties.has(name));
  if (isResource || wrappingMember(object, resource.id.name, names) !== undefined)
    return { response: await readRepresentation(place, resource), content: undefined };
  const members: string[] = [];
  for (const [name, property] of object.properties) {
    const kinds = valueTypes(expandSchema(property.place));
    const { enum: values, const: constant, format } = expandSchema(property.place);
    const isFree = (values ?? constant ?? format) === undefined;
    if (isFree && kinds.has("string") && messageNames.test(name)) members.push(memberJson(name, message));
    else if (kinds.has("boolean") && isFree && doneNames.test(name)) members.push(memberJson(name, "true"));
    else if (property.isRequired) {
      const json = await constantOf(name, property);
      if (json === undefined) throw place.error(`nothing fits "${name}" in its response`);
      members.push(memberJson(name, json));
    }
  }
  return { response: undefined, content: `{${members.join(",")}}` };
}

/** The name of an operation of the collection; undefined for any other operation. */
function knownName(
  { method, path }: DescribedOperation,
  collection: string,
): Exclude<OperationName, "create"> | undefined {
  if (collectionPath(path) === collectionPath(collection)) return method === "get" ? "list" : undefined;
  if (!isItemOf(collection, path)) return undefined;
  const names = { get: "get", put: "replace", patch: "change", delete: "delete" } as const;
  return method in names ? names[method as keyof typeof names] : undefined;
}

/** The path of one resource, whose parameter is then {id}. */
export function pathOfOne(path: string): string {
  return path.replace(/\{[^{}]*\}(?=\/?$)/, "{id}");
}

function nameOf({ place }: DescribedOperation, fallback: string): string {
  const { value } = place.at("operationId");
  return typeof value === "string" && value !== "" ? value : fallback;
}
