// The store of an operation of one's own: the resources of each collection, and transactions. What it
// changes is checked as a client's request is, and in the history under the caller.

import { ApiError, unavailable } from "../base/errors.ts";
import {
  type Collection,
  type EditBody,
  type Plant,
  pagePlantsMax,
  type Representation,
  representationOf,
  valuesEqual,
  wholeOf,
} from "../contract/contract.ts";
import { conflictError, parsePlantJson, plantJson, responseJson } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { anyValue } from "../contract/schema-check.ts";
import { fromJson } from "../contract/stored-types.ts";
import { parseExactJson, toExactJson } from "../json/exact-json.ts";
import type { Json } from "../json/json-values.ts";
import { sentText } from "../json/sent-json.ts";
import type { OperationStore } from "../store/operation-store.ts";
import { entityTag } from "../store/shared/entity-tag.ts";
import {
  type StoredPlant,
  type StoredRow,
  storedColumns,
  timesOf,
  toStored,
} from "../store/shared/plant-rows.ts";
import type { SqlValue } from "../store/sql-connection.ts";
import type { OperationCall } from "./define-operation.ts";
import { type EditKind, editedPlant, parseEdit } from "./edit-plant.ts";
import { checkPreconditions } from "./preconditions.ts";
import { Transaction } from "./transaction.ts";

/** The types of a collection: a resource as it is read, and the body that creates one. */
interface ResourceTypes {
  readonly resource: object;
  readonly body: object;
}

/** The types of all collections of a contract, by their names. */
export type CollectionTypes = Readonly<Record<string, ResourceTypes>>;

interface Condition {
  /** The resource as it was read, or the value of If-Match; nothing is compared without it. */
  readonly ifMatch?: object | string | null | undefined;
}

/** An id: an integer past 2^53 is a bigint. */
type Id = string | number | bigint;

/**
 * The resources of a collection, as JSON in which integers past 2^53 are bigints. What does not fit, is
 * not there or does not match rejects with an ApiError, as a client gets it.
 */
export interface CollectionStore<Types extends ResourceTypes> {
  get(id: Id): Promise<Types["resource"] | undefined>;
  /**
   * Lists resources in the order of their ids: those that have exactly the given values. Without a limit
   * it rejects if there are more than 1,000.
   */
  list(options?: ListOptions<Types>): Promise<Types["resource"][]>;
  create(body: Types["body"]): Promise<Types["resource"]>;
  replace(id: Id, body: Types["body"], condition?: Condition): Promise<Types["resource"]>;
  /** Changes some members, see RFC 7396: null removes one. */
  patch(id: Id, change: Patch<Types["body"]>, condition?: Condition): Promise<Types["resource"]>;
  /** Resolves with whether there was one. */
  delete(id: Id, condition?: Condition): Promise<boolean>;
}

interface ListOptions<Types extends ResourceTypes> {
  readonly where?: Partial<Types["resource"]>;
  readonly after?: Id;
  readonly limit?: number;
}

type Patch<Body> = Body extends readonly unknown[]
  ? Body
  : Body extends object
    ? { readonly [Member in keyof Body]?: Patch<Body[Member]> | null }
    : Body;

/** The collections of a contract, by their names. */
type Collections<Types extends CollectionTypes> = {
  readonly [Name in keyof Types]: CollectionStore<Types[Name]>;
};

/** Runs SQL that reads, with the values of $1, $2 and so on. */
type Query = <Row extends object = Json>(sql: string, values?: readonly SqlValue[]) => Promise<Row[]>;

/** The store as an operation of one's own uses it. */
export interface OwnStore<Types extends CollectionTypes> extends Pick<OperationStore, "read"> {
  /** Each call is a transaction of its own, which is on disk when it resolves. */
  readonly collections: Collections<Types>;
  /**
   * Reads and changes resources of any collections, all or none: when it is committed, all that it has
   * read is still so, or it runs again, ten times at most. It is on disk when this resolves. An error
   * that it throws or an ApiError that it returns undoes it.
   *
   * @param work may run several times. It lists and queries before it changes anything.
   */
  transaction<Result>(
    work: (collections: Collections<Types>, query: Query) => Promise<Result>,
  ): Promise<Result>;
}

type Context = Omit<OperationCall, "url" | "headers">;

/** Runs work in a transaction. */
type Run = <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>;

/** Others have to change what it depends on in each of them. */
const attemptsMax = 10;

export function ownStore<Types extends CollectionTypes>(context: Context): OwnStore<Types> {
  const { contract, store } = context;
  const collectionsOf = (run: Run) =>
    Object.fromEntries(
      contract.collections.map((each) => [each.name, collectionStore(each, context, run)]),
    ) as unknown as Collections<Types>;
  const run: Run = (work) => runTransaction(context, work);
  return {
    read: store.read,
    collections: collectionsOf(run),
    transaction: (work) =>
      run((current) =>
        work(
          collectionsOf((inner) => inner(current)),
          (sql, parameters = []) => current.query({ sql, parameters }),
        ),
      ),
  };
}

async function runTransaction<Result>(
  { store, caller, resolveCreator }: Context,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const current = new Transaction(store);
    const [settled] = await Promise.allSettled([Promise.try(work, current)]);
    if (settled.status === "rejected" || settled.value instanceof ApiError) current.undo();
    const unknown =
      current.creates && caller.creator === undefined ? await resolveCreator(caller) : undefined;
    if (unknown !== undefined) throw unknown;
    if ((await current.commit(caller)) === "done") {
      if (settled.status === "rejected") throw settled.reason;
      return settled.value;
    }
    await Bun.sleep(attempt);
  }
  throw unavailable("Others are changing what the operation depends on");
}

function collectionStore(
  collection: Collection,
  { newId, checkSize }: Context,
  run: Run,
): CollectionStore<ResourceTypes> {
  const { id: member, words, fields, table } = collection;
  const representation = wholeRepresentation(collection);
  const body: EditBody = {
    name: words.body,
    members: fields.map(({ name }) => name),
    wrapper: undefined,
    ignored: collection.ignored,
    check: anyValue,
  };

  function parseId(sent: Id): PlantId | undefined {
    return fromJson(member.type, sentText(toExactJson(sent)));
  }

  /** The resource with an id, if it meets the condition. */
  async function readMatching(current: Transaction, sent: Id, { ifMatch }: Condition = {}) {
    const id = parseId(sent);
    const stored = id === undefined ? undefined : await current.read(collection, id);
    const tag = typeof ifMatch === "object" && ifMatch !== null ? etagOf(ifMatch) : ifMatch;
    const headers = new Headers(typeof tag === "string" ? { "If-Match": tag } : {});
    orThrow(checkPreconditions(headers, stored && entityTag(collection, stored)));
    return stored;
  }

  async function edit(kind: EditKind, sent: Id, change: object, condition?: Condition) {
    return await run(async (current) => {
      const stored = await readMatching(current, sent, condition);
      if (stored === undefined)
        throw new ApiError("notFound", `There is no ${words.one} with the id ${toExactJson(sent)}.`);
      const { id } = stored;
      const members = orThrow(
        parseEdit(collection, body, kind, new TextEncoder().encode(toExactJson(change)), id),
      );
      const plant = orThrow(editedPlant(collection, body, kind, members, stored, id));
      return toResource(current.set(collection, id, stored, checked(plant)) as StoredPlant);
    });
  }

  function checked(plant: Plant): Plant {
    orThrow(checkSize(plantJson(collection, plant)));
    return plant;
  }

  function toResource(stored: StoredPlant): object {
    const resource = parseExactJson(
      responseJson(collection, representation, stored, timesOf(stored)),
    ) as object;
    entityTags.set(resource, entityTag(collection, stored));
    return resource;
  }

  /** The condition of a list, and its values. */
  function conditionOf({ where = {}, after }: ListOptions<ResourceTypes>) {
    const parameters: SqlValue[] = [];
    const conditions = Object.entries(where).flatMap(([name, value]) => {
      if (value === undefined) return [];
      const field = fields.find((each) => each.name === name);
      if (field === undefined) throw new TypeError(`${words.many} cannot be listed by "${name}"`);
      const parsed = fromJson(field.type, sentText(toExactJson(value)));
      if (parsed === undefined) return ["1 = 0"];
      return [`${field.column} = $${parameters.push(field.type.toColumn(parsed))}`];
    });
    const afterId = after === undefined ? undefined : parseId(after);
    if (afterId !== undefined) conditions.push(`id > $${parameters.push(afterId)}`);
    return { condition: ["1 = 1", ...conditions].join(" AND "), parameters };
  }

  return {
    get: (id) =>
      run(async (current) => {
        const stored = await readMatching(current, id);
        return stored && toResource(stored);
      }),
    list: (options = {}) =>
      run(async (current) => {
        const { condition, parameters } = conditionOf(options);
        const limit = Math.min(options.limit ?? pagePlantsMax + 1, pagePlantsMax + 1);
        const sql = `SELECT ${storedColumns(collection)} FROM "${table}" WHERE ${condition} ORDER BY id LIMIT ${limit}`;
        const rows = await current.query<StoredRow>({ sql, parameters });
        if (rows.length > pagePlantsMax)
          throw new RangeError(
            `There are more than ${pagePlantsMax} ${words.many}; list them with after and limit`,
          );
        return rows.map((row) => toResource(toStored(collection, row)));
      }),
    create: (value) =>
      run(async (current) => {
        let isChosen = false;
        const chooseId = () => {
          isChosen = true;
          return newId(collection);
        };
        const plant = checked(
          orThrow(parsePlantJson(collection, toExactJson(value), member.isRequired ? undefined : chooseId)),
        );
        const stored = isChosen ? undefined : await current.read(collection, plant.id);
        if (stored === undefined)
          return toResource(current.set(collection, plant.id, stored, plant) as StoredPlant);
        if (valuesEqual(collection, stored.values, plant.values)) return toResource(stored);
        throw conflictError(collection, plant);
      }),
    replace: (id, value, condition) => edit("replace", id, value, condition),
    patch: (id, change, condition) => edit("change", id, change, condition),
    delete: (id, condition) =>
      run(async (current) => {
        const stored = await readMatching(current, id, condition);
        if (stored !== undefined) current.set(collection, stored.id, stored, undefined);
        return stored !== undefined;
      }),
  };
}

/** The entity tags of the resources that handlers have. */
const entityTags = new WeakMap<object, string>();

/** The entity tag of a resource that the store has returned, for the header field ETag. */
export function etagOf(resource: object): string {
  const tag = entityTags.get(resource);
  if (tag === undefined)
    throw new TypeError(
      "Only a resource that the store has returned has an ETag; pass one, or the value of If-Match",
    );
  return tag;
}

/** A resource with all that responses may have, as that to a GET writes it. */
function wholeRepresentation(collection: Collection): Representation {
  const { hasId, fields, urlName, wrapper } = wholeOf(collection);
  return { ...representationOf(collection, "get"), hasId, fields, urlName, wrapper };
}

function orThrow<Value>(value: Value): Exclude<Value, ApiError> {
  if (value instanceof ApiError) throw value;
  return value as Exclude<Value, ApiError>;
}
