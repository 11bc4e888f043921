// Declares the contract: what an OpenAPI description says of all its resources, and its collections,
// each with everything that is particular to one resource. It is compiled once, by src/openapi.
// "Plant" is the code's word for one stored resource, whatever the contract calls it.

import type { JsonFilter } from "../json/json-filter.ts";
import type { Json } from "../json/json-values.ts";
import type { Access } from "./access.ts";
import type { ErrorFormat } from "./error-format.ts";
import type { ListKey, ListSort } from "./list-order.ts";
import type { IdFormat, PlantId } from "./plant-id.ts";
import type { SchemaCheck, Work } from "./schema-check.ts";
import type { FieldType, FieldValue } from "./stored-types.ts";

/** A property of the resource besides its id. */
export interface Field {
  readonly name: string;
  /** The name as a member of JSON, such as `"name":`. */
  readonly jsonName: string;
  /** The name of its column, quoted for SQL. */
  readonly column: string;
  /** The key of the column in a row. */
  readonly columnName: string;
  readonly type: FieldType;
  readonly isRequired: boolean;
  readonly example: FieldValue;
  /** The value that is stored for a body without it: the default of the contract. */
  readonly default: FieldValue | undefined;
  /** The value for plants that were stored before a required field was added. */
  readonly fill: FieldValue | undefined;
  /** The schema of the property, which documents show. Its numbers are exact. */
  readonly schema: Json;
  /** Whether responses have it, or what they leave out of its values: what is writeOnly. */
  readonly shown: Shown;
  /**
   * Whether its value is an object of the members that no property names. It is the last field, and
   * its members are those of the resource.
   */
  readonly isOthers: boolean;
  /** Picks these members from a body. */
  readonly gather: ((json: string, work: Work) => string | undefined) | undefined;
  /** The keywords of the schema that restrict values, in a text that is equal where they are. */
  readonly restrictions: string;
}

/** Whether a response has a value, or the filter of what it leaves out of it. */
export type Shown = boolean | JsonFilter;

/** The words for the resources of a collection, in everything that people read. */
export interface Words {
  /** The word for one resource, such as "plant". */
  readonly one: string;
  /** The word for several, such as "plants". */
  readonly many: string;
  /** The name of a body that creates one, such as "NewPlant". */
  readonly body: string;
}

/** An operation of the contract that is served. */
export interface ServedOperation {
  readonly operationId: string;
  /** Its path, percent-encoded, in which {id} is the id. */
  readonly path: string;
  /** The status of its success. */
  readonly status: number;
  readonly access: Access;
  /** The resource as its success has it; undefined if that has no body. */
  readonly response: Representation | undefined;
  readonly errors: ErrorFormat;
  /** Whether it describes a 404 of a resource that is not there. */
  readonly describesMissing: boolean;
  /** The parameters that are checked, and have no effect; undefined for none. */
  readonly checked: readonly CheckedParameter[] | undefined;
}

export interface CheckedParameter {
  readonly in: "header" | "query";
  readonly name: string;
  readonly isRequired: boolean;
  /** Accepts its values, as texts or as the JSON that they are. */
  readonly check: SchemaCheck;
}

/** The members that a resource has in a response: the id, fields in their order, and others. */
export interface Representation {
  readonly hasId: boolean;
  /** Whether it has the field, for each field of the collection. */
  readonly fields: readonly Shown[];
  /** The JSON of a field without a value, where the response requires it; undefined if it has none. */
  readonly absent: readonly (string | undefined)[] | undefined;
  /** The member that is the time of creation (RFC 3339); undefined for none. */
  readonly createdName: string | undefined;
  /** The member that is the time of the last change. */
  readonly updatedName: string | undefined;
  /** The member that is the URL of the resource. */
  readonly urlName: string | undefined;
  /** Members that are the same for all, as JSON. */
  readonly constants: readonly string[];
  /** The JSON before and after it, where the resource is a member of the response. */
  readonly wrapper: readonly [before: string, after: string] | undefined;
}

/** The deletion of one resource. */
export interface DeleteOperation extends ServedOperation {
  /** The JSON of its success, where that is not the resource; undefined if it has no body. */
  readonly content: string | undefined;
}

/** An operation that changes one resource: a replacement, or a merge patch. */
export interface EditOperation extends ServedOperation {
  readonly body: EditBody;
  /**
   * The resource as each success has it, by its status: 200 or 204, and 201 if a replacement may create.
   */
  readonly successes: Readonly<Record<number, Representation | undefined>>;
}

/** The body of an operation that changes one resource. */
export interface EditBody {
  /** The schema of the body, such as "PlantPatch". */
  readonly name: string;
  /** The names of the fields that it may have. */
  readonly members: readonly string[];
  /** The member that has them, as in the body of a create. */
  readonly wrapper: string | undefined;
  /** Members that are not taken from it. */
  readonly ignored: readonly string[];
  /** Checks it against its schema. */
  readonly check: SchemaCheck;
}

/** An operation of the contract that is not served: it responds with notImplemented. */
export interface OtherOperation {
  readonly method: "DELETE" | "GET" | "HEAD" | "OPTIONS" | "PATCH" | "POST" | "PUT" | "TRACE";
  readonly path: string;
  /** How its callers identify themselves, if somebody serves it. */
  readonly access: Access;
}

/** How a list is asked for and written. */
export interface ListShape {
  /** The members of the list; undefined where the list is an array. */
  readonly members: ListMembers | undefined;
  /**
   * How a client asks for the next page: by the last id, by the number of plants before it, or by
   * its number; and the parameter of the query that says so.
   */
  readonly paging: "after" | "offset" | "page";
  readonly pagingName: string;
  /** Whether a request without it is rejected. */
  readonly isPagingRequired: boolean;
  /** The number of the first page: 1, or 0 if the contract allows it. */
  readonly firstPage: number;
  readonly limit: {
    /** The parameter of the query. */
    readonly name: string;
    readonly isDescribed: boolean;
    readonly isRequired: boolean;
    readonly minimum: number;
    readonly maximum: number;
    readonly default: number;
  };
  /**
   * The parameters of the query that choose resources by a value: one that it is, is not, or is
   * compared with. A resource without a value has the fallback.
   */
  readonly filters: readonly ListFilter[];
  /** How a client asks for another order than that of the ids; undefined if it cannot. */
  readonly sort: ListSort | undefined;
  /** The other parameters that are described: a request that has one is not served. */
  readonly refused: readonly string[];
}

export interface ListFilter {
  readonly name: string;
  /** "any" is every text that is shown. */
  readonly key: ListKey | "any";
  readonly operator: keyof typeof filterOperators | "contains";
  /** Whether it takes several values, of which one has to fit. */
  readonly isList: boolean;
  /** Whether commas are between them; otherwise the parameter is repeated. */
  readonly hasCommas: boolean;
  readonly fallback: FieldValue | undefined;
  /** Accepts the values of the parameter, as text or as the JSON that it is; undefined for any. */
  readonly check: SchemaCheck | undefined;
  readonly isRequired: boolean;
}

/** The comparisons of filters, in SQL. */
export const filterOperators = { eq: "=", ne: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

export type ListMembers = readonly ListMember[];

/** A member of a list. One that is optional is left out where what it holds is null. */
export type ListMember = readonly [name: string, holds: ListContent, isOptional: boolean];

export type ListContent = ListPart | { readonly members: ListMembers } | { readonly json: string };

/**
 * The content of a member of a list: "total" is the number of all plants, "onPage" that of the page,
 * "from" and "to" are the numbers of its first and last one, and "nextCursor" is what the parameter of
 * the paging takes next.
 */
export type ListPart =
  | ("plants" | "limit" | "offset" | "page" | "total" | "pages" | "onPage" | "from" | "to")
  | ("hasMore" | "hasPrevious" | "isFirst" | "isLast" | "isEmpty")
  | ("nextCursor" | "nextUrl" | "previousUrl" | "firstUrl" | "lastUrl" | "url");

/** The names that lead to the plants of a list; none where it is an array. */
export function plantsPath(members: ListMembers | undefined): string[] {
  for (const [name, holds] of members ?? []) {
    if (holds === "plants") return [name];
    const below = typeof holds === "object" && "members" in holds ? plantsPath(holds.members) : [];
    if (below.length > 0) return [name, ...below];
  }
  return [];
}

export type OperationName = keyof Collection["operations"];

export interface Contract {
  /** How many contracts its store has had, with it; undefined outside of a store. */
  readonly number: number | undefined;
  /** The text that it was compiled from, which its store keeps. */
  readonly source: ContractSource;
  readonly document: OpenApiDocument;
  /** The name of the service, such as "Plant Store". */
  readonly service: string;
  /** The path of the first server's URL, such as "/v1", or "". */
  readonly basePath: string;
  /** In the order of the description. */
  readonly collections: readonly Collection[];
  /** The operations that are described and not served. */
  readonly otherOperations: readonly OtherOperation[];
  /** How callers identify themselves where no operation says otherwise: as for the first create. */
  readonly access: Access;
  /** For operations that are not described: that of the whole description, or else `access`. */
  readonly undescribedAccess: Access;
  /** How errors are written where no operation says otherwise. */
  readonly errors: ErrorFormat;
  /**
   * Whether it was read for a sandbox: responses may have values that are made up, and what of a schema
   * cannot be checked is not.
   */
  readonly isLenient: boolean;
  /**
   * A sentence for each part of the description that is not served or not checked, with its
   * pointer.
   */
  readonly notes: readonly string[];
}

/** Resources that have a path, a create, and a table of their own. */
export interface Collection {
  /** The name in commands and addresses: the last segment of its path, or all of it. */
  readonly name: string;
  /**
   * The name of its table, which SQL has in quotes. It follows from the path, until a store has it
   * under another one, see withTables.
   */
  readonly table: string;
  /** Names that the id and fields had in the store's history, and those that they have now. */
  readonly renamed: Readonly<Record<string, string>>;
  /** The number of its contract in a store; undefined outside of one. */
  readonly contractNumber: number | undefined;
  /**
   * The column that tells what PostgreSQL's table is for: every statement that writes names it, and
   * fails once it has another name. Undefined outside of a store, and on SQLite.
   */
  readonly marker: string | undefined;
  readonly words: Words;
  /** The path of the collection, percent-encoded, such as "/plants". */
  readonly path: string;
  /** The path of one resource, such as "/plants/{id}". */
  readonly itemPath: string;
  /** The name of the parameter in that path, as the description has it. */
  readonly idParameter: string;
  /** `path` as it is written in the description. */
  readonly describedPath: string;
  readonly id: {
    readonly name: string;
    /** See Field.jsonName. */
    readonly jsonName: string;
    readonly type: FieldType<PlantId>;
    readonly schema: Json;
    /** See Field.restrictions. */
    readonly restrictions: string;
    /** How the server makes it; undefined if every body must have it. */
    readonly format: IdFormat | undefined;
    /** Whether a body must have it. Otherwise the server chooses one if it is not sent. */
    readonly isRequired: boolean;
    /** Whether a body may have it; one that it may not have is ignored. */
    readonly isAccepted: boolean;
  };
  readonly fields: readonly Field[];
  /** The schema of the body, where it says more than those of the id and the fields. */
  readonly body:
    | { readonly schema: Json; readonly check: SchemaCheck; readonly restrictions: string }
    | undefined;
  /** Whether a body may have unknown members, which are ignored. */
  readonly allowsOthers: boolean;
  /** Whether a create without the header field Idempotency-Key is rejected. */
  readonly requiresKey: boolean;
  /** The only member of a body, where that holds the resource; undefined if the body is the resource. */
  readonly wrapper: string | undefined;
  /** The properties that a body may have and that are not taken from it: they are readOnly. */
  readonly ignored: readonly string[];
  /** The text that lists show first: the first required one. */
  readonly titleField: Field | undefined;
  /** The optional text by which lists and charts group. */
  readonly groupField: Field | undefined;
  readonly operations: {
    readonly create: ServedOperation;
    readonly list?: ServedOperation;
    readonly get?: ServedOperation;
    readonly replace?: EditOperation;
    readonly change?: EditOperation;
    readonly delete?: DeleteOperation;
  };
  readonly list: ListShape;
  /** The plants of the description's examples: at least one. */
  readonly examples: readonly Plant[];
  /** Follows from the text of the description: the tags of responses have it. */
  readonly digest: string;
}

export interface ContractSource {
  /** The text of an OpenAPI description, in YAML or JSON. */
  readonly text: string;
  /** The description in JSON, if the text is YAML, which takes longer to read. */
  readonly json?: string | undefined;
  /**
   * Where parts of the text were before several files were made one, such as "parcel.yaml#/properties",
   * by their pointers. Unknown for a text that a store has kept.
   */
  readonly origins?: ReadonlyMap<string, string> | undefined;
}

/**
 * Reads a description, by default the Plant Store's. Rejects with an OperatorError that says in one
 * sentence why it cannot be served.
 */
export type ContractCompiler = (source?: ContractSource) => Promise<Contract>;

/** The collection with a table. */
export function collectionOf({ collections }: Pick<Contract, "collections">, table: string): Collection {
  const found = collections.find((collection) => collection.table === table);
  if (found === undefined) throw new Error(`No collection has the table ${table}`);
  return found;
}

/** An OpenAPI description, of which only what is read is typed. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [member: string]: unknown;
}

/** Whether an operation requires the condition If-Match. */
export function requiresMatch({ operations }: Collection): boolean {
  return Object.values(operations).some(({ checked }) =>
    checked?.some(({ name, isRequired }) => isRequired && isMatch(name)),
  );
}

export function isMatch(header: string): boolean {
  return header.toLowerCase() === "if-match";
}

/** The operations that serve requests without a token. */
export function openOperations({ collections }: Contract): ServedOperation[] {
  return collections.flatMap(({ operations }) =>
    Object.values(operations).filter(({ access }) => access.isOpen),
  );
}

/**
 * The values of a plant in the order of the fields of its collection; undefined for one that it does
 * not have.
 */
export type Values = readonly (FieldValue | undefined)[];

/** A plant as it is sent and stored. */
export interface Plant {
  readonly id: PlantId;
  readonly values: Values;
}

/** The fields of a plant as columns of a row: null for a field that it does not have. */
export type PlantColumns = Readonly<Record<string, unknown>>;

/** Plants of a page, at most. */
export const pagePlantsMax = 1_000;

/** The list of a contract that describes none. */
export const ownListShape: ListShape = {
  members: undefined,
  paging: "after",
  pagingName: "after",
  isPagingRequired: false,
  firstPage: 1,
  limit: {
    name: "limit",
    isDescribed: false,
    isRequired: false,
    minimum: 1,
    maximum: pagePlantsMax,
    default: 100,
  },
  filters: [],
  sort: undefined,
  refused: [],
};

/** The resource in a response that is not described: everything that may be shown. */
export function wholeOf({ fields }: Pick<Collection, "fields">): Representation {
  return {
    hasId: true,
    fields: fields.map(({ shown }) => shown),
    absent: undefined,
    createdName: undefined,
    updatedName: undefined,
    urlName: undefined,
    constants: [],
    wrapper: undefined,
  };
}

/** A resource in the response of a list or a GET: as described, or else as a create returns it. */
export function representationOf(
  { operations, fields }: Pick<Collection, "operations" | "fields">,
  operation: "get" | "list",
): Representation {
  return operations[operation]?.response ?? operations.create.response ?? wholeOf({ fields });
}

/** The values of the examples. */
export function sampleValues(collection: Collection): Values {
  return collection.fields.map(({ example }) => example);
}

/** Whether two plants have the same values. */
export function valuesEqual(collection: Collection, one: Values, other: Values): boolean {
  return collection.fields.every((field, index) => valueEquals(field, one[index], other[index]));
}

/** Whether two plants have the same values, or there is neither. */
export function isSamePlant(
  collection: Collection,
  one: Pick<Plant, "values"> | undefined,
  other: Pick<Plant, "values"> | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other;
  return valuesEqual(collection, one.values, other.values);
}

/**
 * Whether a create with these values is the one that stored a plant, which may have been before a field
 * with a default was added: then it has no value of it.
 */
export function isSameCreate(collection: Collection, stored: Values, sent: Values): boolean {
  return collection.fields.every(
    (field, index) =>
      valueEquals(field, stored[index], sent[index]) ||
      (stored[index] === undefined && valueEquals(field, field.default, sent[index])),
  );
}

/** Whether two values of a field are equal, or both absent. */
export function valueEquals(
  { type }: Field,
  one: FieldValue | undefined,
  other: FieldValue | undefined,
): boolean {
  return one === undefined || other === undefined ? one === other : type.equals(one, other);
}

/** The UTF-16 code units of values as texts, at most: they limit the memory that they take. */
export function countCodeUnits({ fields }: Collection, values: Values): number {
  let codeUnits = 0;
  for (let index = 0; index < fields.length; index++) {
    const value = values[index];
    if (value !== undefined) codeUnits += (fields[index] as Field).type.size(value);
  }
  return codeUnits;
}
