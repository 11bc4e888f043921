// Reads the operations of a description: which are served, and what of them is not.

import {
  type Collection,
  type DeleteOperation,
  type EditOperation,
  type ListShape,
  type OperationName,
  type OtherOperation,
  ownListShape,
  type Representation,
  type RequiredHeader,
  type ServedOperation,
  type Words,
  wholeOf,
} from "../contract.ts";
import type { ErrorShape } from "../error-format.ts";
import { encodePath } from "../json/percent-encoding.ts";
import { operationName } from "../words.ts";
import { checkOf } from "./checks.ts";
import type { DescribedCollection } from "./collection.ts";
import {
  collectionPath,
  type DescribedOperation,
  describedSuccess,
  isItemOf,
  methods,
  operationAt,
  successOf,
  titleOf,
} from "./described-operation.ts";
import { errorFormatOf } from "./error-shapes.ts";
import type { DescribedList } from "./list-shape.ts";
import { type ContractError, faultOf, type Place, readable } from "./place.ts";
import { type Resource, readSuccess } from "./representations.ts";
import { isHeaderName, readAccess } from "./security.ts";
import { noteOperation } from "./unserved-parts.ts";

/** State of reading one description. */
export interface Reading {
  readonly root: Place;
  /** Whether what nothing stored fits may be made up in responses. */
  readonly fills: boolean;
  /** The pointers of the operations that are served. */
  readonly served: Set<string>;
  /** Why others cannot be, by their pointers. */
  readonly faults: Map<string, ContractError>;
}

interface Described {
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
  collection: Described,
): Promise<Pick<Collection, "operations" | "list">> {
  const { path, operation: create } = collection.described;
  const operations: Record<string, ServedOperation> = {
    create: await readOperation("create", create, reading, collection),
  };
  let list = ownListShape;
  for (const operation of operationsOf(reading.root, path)) {
    const name = knownName(operation, path);
    if (name === undefined) continue;
    try {
      const { shape, ...served } = await readOperation(name, operation, reading, collection);
      list = shape ?? list;
      operations[name] = served;
    } catch (error) {
      reading.faults.set(operation.place.pointer, faultOf(error));
    }
  }
  return { operations: operations as unknown as Collection["operations"], list };
}

/** The operations of a collection and of its resources. */
export function operationsOf(root: Place, collection: string): DescribedOperation[] {
  return describedOperations(
    root,
    (path) => collectionPath(path) === collectionPath(collection) || isItemOf(collection, path),
  );
}

/** The header fields of conditions, which every operation of one resource serves. */
const conditions: readonly string[] = ["if-match", "if-none-match"];

/** Reads an operation. Rejects with a ContractError if it cannot be served. */
async function readOperation(
  name: OperationName,
  operation: DescribedOperation,
  { root, served }: Reading,
  collection: Described,
): Promise<ServedOperation & { readonly shape?: ListShape }> {
  const { described, words, common } = collection;
  const { parameters = conditions, ...part } = await readPart(name, operation, collection);
  const headers = await requiredHeaders(operation);
  const access = readAccess(operation.place, root);
  const errors = errorFormatOf(operation, common);
  const known = [...parameters, ...headers.map((each) => each.name.toLowerCase())];
  noteOperation(operation, known, described.id.schema);
  served.add(operation.place.pointer);
  const fallback = operationName(name, name === "list" ? words.many : words.one);
  return {
    operationId: nameOf(operation, fallback),
    path: encodePath(isItemOf(described.path, operation.path) ? pathOfOne(operation.path) : operation.path),
    access,
    errors,
    describesMissing: operation.place.at("responses", "404").value !== undefined,
    headers: headers.length === 0 ? undefined : headers,
    ...part,
  };
}

/** The operations of a description that are not served. Notes them, and why. */
export function readOthers({ root, served, faults }: Reading): OtherOperation[] {
  for (const [path, item] of pathItems(root)) noteMethods(path, item);
  return describedOperations(root).flatMap((operation) => {
    const { method, path, place } = operation;
    if (served.has(place.pointer)) return [];
    place.note(`${titleOf(operation)} is not served${reasonFrom(place, faults.get(place.pointer))}`);
    return [{ method: method.toUpperCase() as OtherOperation["method"], path }];
  });
}

function reasonFrom({ pointer }: Place, fault: ContractError | undefined): string {
  if (fault === undefined) return ": it responds with 501";
  const where = fault.pointer.startsWith(pointer) ? "" : `; see ${fault.origin}`;
  return `, as ${fault.problem}: it responds with 501${where}`;
}

/** Notes the methods of a path that are never served. */
function noteMethods(path: string, item: Place): void {
  for (const method of ["head", "options", "trace", "query"])
    if (item.at(method).value !== undefined)
      item.at(method).note(`${method.toUpperCase()} ${path} is not served`);
  for (const [method, each] of item.at("additionalOperations").members)
    each.note(`${method} ${path} is not served`);
}

/** Reads the header fields that an operation requires, besides those that have a meaning of their own. */
async function requiredHeaders({ parameters }: DescribedOperation): Promise<RequiredHeader[]> {
  const found: RequiredHeader[] = [];
  for (const place of parameters) {
    const { in: where, required, name, schema } = place.object ?? {};
    const isOther = /^(?:accept|authorization|content-type|idempotency-key)$/i.test(String(name));
    if (where !== "header" || required !== true || isOther) continue;
    if (!isHeaderName(name) || schema === undefined) continue;
    found.push({ name, check: await checkOf(place.at("schema")) });
  }
  return found;
}

/** What is particular to an operation, with the parameters that it serves, those of the header in lower case. */
type OperationPart = Pick<ServedOperation, "status" | "response"> &
  Partial<Pick<DescribedList, "shape" | "parameters">> &
  Partial<Pick<EditOperation, "body" | "successes"> & Pick<DeleteOperation, "content">>;

/**
 * Reads what is particular to an operation; the files for it are loaded where it is described. Rejects with
 * a ContractError if it cannot be served.
 */
async function readPart(
  name: OperationName,
  operation: DescribedOperation,
  { described, resource, words }: Described,
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
    const { readList } = await import("./list-shape.ts");
    return { status, ...(await readList(operation, success, resource)) };
  }
  if (name === "get")
    return { status, response: (await readSuccess(success, resource)) ?? wholeOf(resource) };
  if (name === "delete") {
    const { readDeletion } = await import("./deletion.ts");
    return { status, ...(await readDeletion(success, resource, words.one)) };
  }
  const creation = name === "replace" ? describedSuccess(operation, ["201"]) : undefined;
  const successes: Record<number, Representation | undefined> = {};
  for (const each of [success, creation])
    if (each !== undefined) successes[each.status] = await readSuccess(each, resource);
  const { readEditBody } = await import("./edit-body.ts");
  const body = await readEditBody(name, operation, { ...resource, words, wrapper: described.wrapper });
  return { status, response: successes[status], successes, body };
}

/** The operations of some paths of a description, or of all. */
function describedOperations(
  root: Place,
  isWanted: (path: string) => boolean = () => true,
): DescribedOperation[] {
  return pathItems(root)
    .filter(([path]) => isWanted(path))
    .flatMap(([path, item]) =>
      methods
        .filter((method) => item.at(method).value !== undefined)
        .map((method) => operationAt(item, path, method)),
    );
}

/** The paths of a description, and what is at them. One that cannot be read is noted elsewhere. */
function pathItems(root: Place): [path: string, item: Place][] {
  return root
    .at("paths")
    .members.filter(([path, item]) => !path.startsWith("x-") && readable(() => item.target) !== undefined);
}

/** The name of an operation of the collection; undefined for any other operation. */
function knownName(
  { method, path }: DescribedOperation,
  collection: string,
): Exclude<OperationName, "create"> | undefined {
  if (collectionPath(path) === collectionPath(collection)) return method === "get" ? "list" : undefined;
  if (!isItemOf(collection, path) || method === "post") return undefined;
  return ({ get: "get", put: "replace", patch: "change", delete: "delete" } as const)[method];
}

/** The path of one resource, whose parameter is then {id}. */
export function pathOfOne(path: string): string {
  return path.replace(/\{[^{}]*\}(?=\/?$)/, "{id}");
}

function nameOf({ place }: DescribedOperation, fallback: string): string {
  const { value } = place.at("operationId");
  return typeof value === "string" && value !== "" ? value : fallback;
}
