// The operations of a description: which are served, and what of them is not.

import {
  type Contract,
  type DeleteOperation,
  type EditOperation,
  type OperationName,
  type OtherOperation,
  ownListShape,
  type Representation,
  type RequiredHeader,
  type ServedOperation,
  type Words,
  wholeOf,
} from "../contract.ts";
import { encodePath } from "../json/percent-encoding.ts";
import { operationName } from "../words.ts";
import type { Collection } from "./collection.ts";
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
import { commonShape, readErrorFormat } from "./error-shapes.ts";
import type { DescribedList } from "./list-shape.ts";
import { ContractError, type Place } from "./place.ts";
import { type Resource, readSuccess } from "./representations.ts";
import { readAccess } from "./security.ts";
import { noteOperation } from "./unserved-parts.ts";

type ReadOperations = Pick<Contract, "operations" | "list" | "others" | "errors">;

/** An operation without what all of them have. */
type OwnPart = Omit<
  ServedOperation,
  "operationId" | "path" | "access" | "errors" | "describesMissing" | "headers"
>;

interface Described {
  readonly root: Place;
  readonly create: Collection;
  readonly resource: Resource;
  readonly words: Words;
}

/**
 * Reads all operations, and notes those that are not served, and why. Rejects with a ContractError
 * if the create cannot be.
 */
export async function readOperations(described: Described): Promise<ReadOperations> {
  const { root, create, resource, words } = described;
  const served: { name: OperationName; operation: DescribedOperation; part: OwnPart }[] = [
    { name: "create", operation: create.operation, part: await createPart(create, resource) },
  ];
  const others: OtherOperation[] = [];
  let list = ownListShape;
  let listParameters: readonly string[] = [];
  for (const operation of otherOperations(root, create.path)) {
    const name = knownName(operation, create.path);
    try {
      if (name !== undefined) {
        const { shape, parameters, ...part } = await readPart(name, operation, described);
        list = shape ?? list;
        listParameters = parameters ?? listParameters;
        served.push({ name, operation, part });
        continue;
      }
      operation.place.note(`${titleOf(operation)} is not served: it responds with 501`);
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      operation.place.note(
        `${titleOf(operation)} is not served, as ${error.problem}: it responds with 501${
          error.pointer.startsWith(operation.place.pointer) ? "" : `; see ${error.pointer}`
        }`,
      );
    }
    const method = operation.method.toUpperCase() as OtherOperation["method"];
    others.push({ method, path: operation.path });
  }
  const common = commonShape(served.map(({ operation }) => operation));
  const operations: [OperationName, ServedOperation][] = [];
  for (const { name, operation, part } of served) {
    const headers = await requiredHeaders(operation, resource);
    const parameters = servedParameters(name, create, listParameters);
    const known = [...parameters, ...headers.map((each) => each.name.toLowerCase())];
    noteOperation(operation, known, resource.id.schema);
    const fallback = operationName(name, name === "list" ? words.many : words.one);
    const own = {
      operationId: nameOf(operation, fallback),
      path: encodePath(pathOf(operation, create.path)),
      access: readAccess(operation.place, root),
      errors: readErrorFormat(operation, common),
      describesMissing: operation.place.at("responses", "404").value !== undefined,
      headers: headers.length === 0 ? undefined : headers,
      ...part,
    };
    operations.push([name, own]);
  }
  return {
    operations: Object.fromEntries(operations) as unknown as Contract["operations"],
    list,
    others,
    errors: { shape: common, shapes: {}, statuses: {} },
  };
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
    // RFC 9110, section 5.6.2: Headers throws for another name.
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(String(name)) || schema === undefined) continue;
    found.push({ name: String(name), check: await checks.of(place.at("schema")) });
  }
  return found;
}

async function createPart({ success }: Collection, resource: Resource): Promise<OwnPart> {
  return { status: success.status, response: await readSuccess(success, resource) };
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
  { create: { wrapper }, resource, words }: Described,
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

/** The parameters of an operation that are served; those of the header are in lower case. */
function servedParameters(
  name: OperationName,
  { id }: Collection,
  list: readonly string[],
): readonly string[] {
  if (name === "create") return id.isRequired ? [] : ["idempotency-key"];
  return name === "list" ? list : ["if-match", "if-none-match"];
}

/** Yields all operations except the create. Notes those with methods that are never served. */
function* otherOperations(root: Place, collection: string): Generator<DescribedOperation> {
  for (const [path, item] of root.at("paths").members) {
    if (path.startsWith("x-")) continue;
    for (const method of ["head", "options", "trace", "query"])
      if (item.at(method).value !== undefined)
        item.at(method).note(`${method.toUpperCase()} ${path} is not served`);
    for (const [method, each] of item.at("additionalOperations").members)
      each.note(`${method} ${path} is not served`);
    for (const method of methods)
      if (item.at(method).value !== undefined && (path !== collection || method !== "post"))
        yield operationAt(item, path, method);
  }
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

/** The path of an operation, whose parameter is the id. */
function pathOf({ path }: DescribedOperation, collection: string): string {
  return isItemOf(collection, path) ? path.replace(/\{[^{}]*\}(?=\/?$)/, "{id}") : path;
}

function nameOf({ place }: DescribedOperation, fallback: string): string {
  const { value } = place.at("operationId");
  return typeof value === "string" && value !== "" ? value : fallback;
}
