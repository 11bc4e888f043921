// The operations of a description: which are served, and what of them is not.

import {
  type Contract,
  type EditOperation,
  type ListShape,
  type OperationName,
  type OtherOperation,
  ownListShape,
  type Representation,
  type ServedOperation,
  type Words,
  wholeOf,
} from "../contract.ts";
import { encodePath } from "../json/percent-encoding.ts";
import { operationName } from "../words.ts";
import type { Checks } from "./checks.ts";
import type { Collection } from "./collection.ts";
import {
  collectionPath,
  type DescribedOperation,
  isItemOf,
  methods,
  operationAt,
  successOf,
  titleOf,
} from "./described-operation.ts";
import { commonShape, readErrorFormat } from "./error-shapes.ts";
import { ContractError, type Place } from "./place.ts";
import { type Resource, readSuccess } from "./representations.ts";
import { readAccess } from "./security.ts";
import { noteOperation } from "./unserved-parts.ts";

type ReadOperations = Pick<Contract, "operations" | "list" | "others" | "errors">;

/** An operation without what all of them have. */
type OwnPart = Omit<ServedOperation, "operationId" | "path" | "access" | "errors" | "describesMissing">;

interface Described {
  readonly root: Place;
  readonly create: Collection;
  readonly resource: Resource;
  readonly words: Words;
  readonly checks: Checks;
}

/**
 * Reads all operations, and notes those that are not served, and why. Rejects with a ContractError
 * if the create cannot be.
 */
export async function readOperations(described: Described): Promise<ReadOperations> {
  const { root, create, resource, words } = described;
  const served: { name: OperationName; operation: DescribedOperation; part: OwnPart }[] = [
    { name: "create", operation: create.operation, part: createPart(create, resource) },
  ];
  const others: OtherOperation[] = [];
  let list = ownListShape;
  for (const operation of otherOperations(root, create.path)) {
    const name = knownName(operation, create.path);
    try {
      if (name !== undefined) {
        const { shape, ...part } = await readPart(name, operation, described);
        list = shape ?? list;
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
  const operations = served.map(({ name, operation, part }) => {
    noteOperation(operation, servedParameters(name, create, list), resource.id.schema);
    const fallback = operationName(name, name === "list" ? words.many : words.one);
    const own = {
      operationId: nameOf(operation, fallback),
      path: encodePath(pathOf(operation, create.path)),
      access: readAccess(operation.place, root),
      errors: readErrorFormat(operation, common),
      describesMissing: operation.place.at("responses", "404").value !== undefined,
      ...part,
    };
    return [name, own] as const;
  });
  return {
    operations: Object.fromEntries(operations) as unknown as Contract["operations"],
    list,
    others,
    errors: { shape: common, shapes: {}, statuses: {} },
  };
}

function createPart({ success }: Collection, resource: Resource): OwnPart {
  return { status: success.status, response: readSuccess(success, resource) };
}

type PartOf = OwnPart & { readonly shape?: ListShape } & Partial<Pick<EditOperation, "body" | "successes">>;

/**
 * Reads what is particular to an operation; the files for it are loaded where it is described. Rejects with
 * a ContractError if it cannot be served.
 */
async function readPart(
  name: Exclude<OperationName, "create">,
  operation: DescribedOperation,
  { resource, words, checks }: Described,
): Promise<PartOf> {
  const statuses = {
    list: ["200"],
    get: ["200"],
    delete: ["204", "200"],
    replace: ["200", "204"],
    change: ["200", "204"],
  };
  const success = successOf(operation, statuses[name]);
  if (success === undefined)
    throw operation.place.error(`it describes no response ${statuses[name].join(" or ")}`);
  const { status } = success;
  if (name === "list") {
    const { readList } = await import("./list-shape.ts");
    return { status, ...readList(operation, success, resource) };
  }
  if (name === "get") return { status, response: readSuccess(success, resource) ?? wholeOf(resource) };
  if (name === "delete") {
    if (success.schema !== undefined) throw success.place.error("its response has a body");
    return { status, response: undefined };
  }
  const creation = name === "replace" ? successOf(operation, ["201"]) : undefined;
  const successes: Record<number, Representation | undefined> = {};
  for (const each of [success, creation])
    if (each !== undefined) successes[each.status] = readSuccess(each, resource);
  const { readEditBody } = await import("./edit-body.ts");
  const body = await readEditBody(name, operation, { ...resource, words }, checks);
  return { status, response: successes[status], successes, body };
}

/** The parameters of an operation that are served; those of the header are in lower case. */
function servedParameters(name: OperationName, { id }: Collection, list: ListShape): readonly string[] {
  if (name === "create") return id.isRequired ? [] : ["idempotency-key"];
  return name === "list" ? [list.limit.name, list.pagingName] : ["if-match", "if-none-match"];
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
