// The operations of a description: which are served, and what of them is not.

import type { Access } from "../access.ts";
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
import { type DescribedErrors, errorFormatOf, readErrors } from "./error-shapes.ts";
import type { DescribedList } from "./list-shape.ts";
import { ContractError, type Faults, type Place, readable } from "./place.ts";
import { type Resource, readSuccess } from "./representations.ts";
import { isHeaderName, readAccess } from "./security.ts";
import { noteOperation } from "./unserved-parts.ts";

/** An operation without what all of them have. */
type OwnPart = Omit<
  ServedOperation,
  "operationId" | "path" | "access" | "errors" | "describesMissing" | "headers"
>;

/** An operation that is served, as far as it is particular to its collection. */
export interface ServedPart {
  readonly name: OperationName;
  readonly operation: DescribedOperation;
  readonly part: OwnPart & Partial<Pick<EditOperation, "successes">>;
  readonly access: Access;
  readonly errors: DescribedErrors;
  readonly headers: readonly RequiredHeader[];
  /** The parameters that are served; those of the header are in lower case. */
  readonly parameters: readonly string[];
}

interface Described {
  readonly described: DescribedCollection;
  readonly resource: Resource;
  readonly words: Words;
}

/**
 * Reads the operations of a collection, and adds the faults of those that cannot be served. Rejects
 * with a ContractError if the create cannot be.
 */
export async function readParts(
  root: Place,
  collection: Described,
  faults: Faults,
): Promise<{ readonly parts: ServedPart[]; readonly list: ListShape }> {
  const { described, resource } = collection;
  const { path, operation: create, success, id } = described;
  const parts: ServedPart[] = [
    {
      name: "create",
      operation: create,
      part: { status: success.status, response: await readSuccess(success, resource) },
      access: readAccess(create.place, root),
      errors: readErrors(create),
      headers: await requiredHeaders(create, resource),
      parameters: id.isRequired ? [] : ["idempotency-key"],
    },
  ];
  let list = ownListShape;
  for (const operation of describedOperations(root, (other) => isPathOf(path, other))) {
    const name = knownName(operation, path);
    if (name === undefined) continue;
    try {
      const { shape, parameters, ...part } = await readPart(name, operation, collection);
      const headers = await requiredHeaders(operation, resource);
      const access = readAccess(operation.place, root);
      const errors = readErrors(operation);
      list = shape ?? list;
      parts.push({ name, operation, part, access, errors, headers, parameters: parameters ?? conditions });
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      faults.set(operation.place.pointer, error);
    }
  }
  return { parts, list };
}

/** The header fields of conditions, which every operation of one resource serves. */
const conditions: readonly string[] = ["if-match", "if-none-match"];

/**
 * The operations of a collection, with what the description says of all of them. Notes what of them
 * is not served.
 *
 * @param common the shape of errors that an operation does not describe.
 */
export function readOperations(
  parts: readonly ServedPart[],
  common: ErrorShape,
  { describedPath, id, words }: Pick<Collection, "describedPath" | "id" | "words">,
): Collection["operations"] {
  const operations = parts.map(({ name, operation, part, access, errors, headers, parameters }) => {
    const known = [...parameters, ...headers.map((each) => each.name.toLowerCase())];
    noteOperation(operation, known, id.schema);
    const fallback = operationName(name, name === "list" ? words.many : words.one);
    const served: ServedOperation = {
      operationId: nameOf(operation, fallback),
      path: encodePath(isItemOf(describedPath, operation.path) ? pathOfOne(operation.path) : operation.path),
      access,
      errors: errorFormatOf(errors, common),
      describesMissing: operation.place.at("responses", "404").value !== undefined,
      headers: headers.length === 0 ? undefined : headers,
      ...part,
    };
    return [name, served] as const;
  });
  return Object.fromEntries(operations) as unknown as Collection["operations"];
}

/** The operations of a description that are not served. Notes them, and why. */
export function readOthers(
  root: Place,
  served: readonly DescribedOperation[],
  faults: Faults,
): OtherOperation[] {
  for (const [path, item] of pathItems(root)) noteMethods(path, item);
  const pointers = new Set(served.map(({ place }) => place.pointer));
  return describedOperations(root).flatMap((operation) => {
    const { method, path, place } = operation;
    if (pointers.has(place.pointer)) return [];
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
async function requiredHeaders(
  { parameters }: DescribedOperation,
  { checks }: Resource,
): Promise<RequiredHeader[]> {
  const found: RequiredHeader[] = [];
  for (const place of parameters) {
    const { in: where, required, name, schema } = place.object ?? {};
    const isOther = /^(?:accept|authorization|content-type|idempotency-key)$/i.test(String(name));
    if (where !== "header" || required !== true || isOther) continue;
    if (!isHeaderName(name) || schema === undefined) continue;
    found.push({ name, check: await checks.of(place.at("schema")) });
  }
  return found;
}

type PartOf = OwnPart &
  Partial<Omit<DescribedList, "response">> &
  Partial<Pick<EditOperation, "body" | "successes"> & Pick<DeleteOperation, "content">>;

/**
 * Reads what is particular to an operation; the files for it are loaded where it is described. Rejects with
 * a ContractError if it cannot be served.
 */
async function readPart(
  name: Exclude<OperationName, "create">,
  operation: DescribedOperation,
  { described: { wrapper }, resource, words }: Described,
): Promise<PartOf> {
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
  const body = await readEditBody(name, operation, { ...resource, words, wrapper });
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

/** Whether a path is that of a collection, or of one of its resources. */
function isPathOf(collection: string, path: string): boolean {
  return collectionPath(path) === collectionPath(collection) || isItemOf(collection, path);
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
