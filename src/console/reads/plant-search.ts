// Searches plants by their ids, as SQL of both dialects: scans one range of ids after the other,
// for a limited time.

import { BadRequestError } from "../../admin-pages/admin-responses.ts";
import type { Collection, Field } from "../../contract/contract.ts";
import { compareIds, type PlantId } from "../../contract/plant-id.ts";
import { isStorable, nullable, text as textType, typeOfKind } from "../../contract/stored-types.ts";
import { int64Max, int64Min } from "../../json/int64.ts";
import { conditionsOf as conditionsSent, filterParameters } from "../../plants/list-filters.ts";
import { conditionSql } from "../../store/shared/conditions.ts";
import { bytesSql } from "../../store/shared/page.ts";
import { sortKey } from "../../store/shared/sort-key.ts";
import { containsSql, searchedFields } from "../../store/shared/text-search.ts";
import type { SqlConnection, SqlValue } from "../../store/sql-connection.ts";
import { parseId } from "../parameters.ts";

/** A plant is found if it matches every condition that is given. */
export interface Filter {
  /** Each word must be contained in one of the searched fields. */
  readonly words: readonly string[];
  /** The values of comparisons, by the names of their parameters; see searchable. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Fields without a value. */
  readonly missing?: readonly Field[];
  /** The lowest and the highest id. */
  readonly ids?: readonly [min: PlantId, max: PlantId] | undefined;
  /** The name of the token, or of the identity provider's subject, that created the plant. */
  readonly creator?: string | undefined;
}

export interface Reading {
  /** The id from which to continue, which is not read again. */
  readonly after?: PlantId | undefined;
  readonly isDescending: boolean;
  readonly plantsMax: number;
}

export interface Found {
  readonly ids: readonly PlantId[];
  /** The size of each. */
  readonly bytes: readonly number[];
  /** The id from which to continue; undefined if no plant is left. */
  readonly next: PlantId | undefined;
  /** How many plants were compared. */
  readonly compared: number;
}

const searchCharactersMax = 100;

/** All ids: a text has at least one byte, and at most 2,048. */
const int64Range = [int64Min, int64Max] as const;
const textRange = ["", "\u{10ffff}".repeat(513)] as const;

/** The SQL of each direction: how the ids of a range compare with its first and its last one. */
const descending = { order: "DESC", at: "<=", after: "<", to: ">=", last: "min" } as const;
const ascending = { order: "ASC", at: ">=", after: ">", to: "<=", last: "max" } as const;

/** The time limit of a request: the page shows how far it came, and sends the next one. */
const searchMsMax = 200;

/**
 * How long one statement of a scan should take: a read transaction keeps SQLite from restarting the
 * WAL.
 */
const rangeMs = 20;
const rangePlantsFirst = 1_000;
/** Where no text is searched in, so that the way to several nodes does not make ranges small. */
const plainRangePlantsMin = 2_048;
const rangePlantsMax = 1_000_000;

/** The parameters that compare a property begin with one of these, such as `from.price`. */
const comparisons = { is: "eq", from: "gte", to: "lte", below: "lt" } as const;

/**
 * Adds filters of the time of creation, and of all properties but objects and lists. A value that
 * the contract no longer allows may still be stored.
 */
function searchable(collection: Collection): Collection {
  const fields = collection.fields.map((field) => ({ ...field, type: typeOfKind(field.type.kind) }));
  const keys = fields.map(({ name, type }, key) => ({ name, key, isScalar: type.kind.name !== "json" }));
  const searched = keys.filter(({ name, isScalar }) => isScalar && name !== "token" && name !== "created");
  const filters = [...searched, { name: "created", key: "created" as const }].flatMap(({ name, key }) =>
    Object.entries(comparisons).map(([start, operator]) => ({
      ...plainFilter,
      name: `${start}.${name}`,
      key,
      operator,
    })),
  );
  return { ...collection, fields, list: { ...collection.list, filters } };
}

const plainFilter = {
  isList: false,
  hasCommas: false,
  isRequired: false,
  fallback: undefined,
  check: undefined,
};

/** Reads the filter of a request; the page parses what was typed. Throws a BadRequestError. */
export function parseFilter(collection: Collection, parameters: URLSearchParams): Filter {
  const { one } = collection.words;
  const words = parameters.getAll("word").filter((word) => word !== "");
  const creator = parameters.get("is.token") ?? undefined;
  if (Array.from(words.join("")).length > searchCharactersMax)
    throw new BadRequestError(`A search may have at most ${searchCharactersMax} characters.`);
  if (![...parameters.values()].every(isStorable))
    throw new BadRequestError(`The search has a character that no ${one} can have.`);
  const [idMin, idMax] = [parameters.get("idMin"), parameters.get("idMax")];
  const missing = new Set(parameters.getAll("missing"));
  const values: Record<string, unknown> = {};
  for (const [name, { parse, expected }] of Object.entries(filterParameters(searchable(collection)))) {
    const [text, property] = [parameters.get(name), name.slice(name.indexOf(".") + 1)];
    const { type } = collection.fields.find((field) => field.name === property) ?? {};
    // For a property that may be null the page sends null, and the text of that word in quotes.
    const written = type?.kind.isNullable === true && text !== null ? unquoted(text) : text;
    if (written === null && text !== null) missing.add(property);
    if (written === null) continue;
    const value = parse(written);
    if (value === undefined) throw new BadRequestError(`${property} must be ${expected}.`);
    values[name] = value;
  }
  return {
    words,
    values,
    missing: collection.fields.filter(({ name }) => missing.has(name)),
    creator,
    ids:
      idMin === null || idMax === null ? undefined : [parseId(collection, idMin), parseId(collection, idMax)],
  };
}

/** The text that a value of a type with null is written as; null for null. */
function unquoted(text: string): string | null {
  const value = nullable(textType()).parse(text);
  return value === undefined ? text : (value as string | null);
}

/** Finds plants: scans until there are enough, no plant is left, or the time is over. */
export async function searchPlants(
  collection: Collection,
  sql: SqlConnection,
  filter: Filter,
  { after, isDescending, plantsMax }: Reading,
): Promise<Found> {
  const ids: PlantId[] = [];
  const bytes: number[] = [];
  let compared = 0;
  const creators = await creatorIds(sql, filter.creator);
  if (creators?.length === 0) return { ids, bytes, next: undefined, compared };
  const deadline = performance.now() + searchMsMax;
  const way = isDescending ? descending : ascending;
  const isPast = (id: PlantId, start: PlantId) =>
    isDescending ? compareIds(id, start) <= 0 : compareIds(id, start) >= 0;
  const [min, max] = filter.ids ?? (collection.id.type.kind.name === "integer" ? int64Range : textRange);
  const [first, last] = isDescending ? [max, min] : [min, max];
  // Ids that were already searched are not read again.
  let [start, from]: [PlantId, string] =
    after !== undefined && isPast(after, first) ? [after, way.after] : [first, way.at];
  for (let rangePlants = rangePlantsFirst; ; ) {
    const startedAt = performance.now();
    if (compared > 0 && startedAt > deadline) return { ids, bytes, next: start, compared };
    const [range] = await sql.query<{ last: PlantId | null; plants: bigint }>(
      `SELECT ${way.last}(id) AS last, count(*) AS plants
       FROM (SELECT id FROM "${collection.table}" WHERE id ${from} $1 AND id ${way.to} $2 ORDER BY id ${way.order} LIMIT $3) AS range`,
      [start, last, rangePlants],
    );
    const end: PlantId | undefined = range?.last ?? undefined;
    if (end === undefined) return { ids, bytes, next: undefined, compared };
    const parameters: SqlValue[] = [];
    const parameter = (value: SqlValue) => `$${parameters.push(value)}`;
    // Without sql.inTime, which took as long as the comparison: a range is small.
    const conditions = conditionsOf(collection, sql, { ...filter, creators }, parameter);
    const found = await sql.query<{ id: PlantId; bytes: bigint | number }>(
      `SELECT id, ${bytesSql(collection)} AS bytes FROM "${collection.table}" WHERE id ${from} ${parameter(start)} AND id ${way.to} ${parameter(end)} ${conditions}
       ORDER BY id ${way.order} LIMIT ${parameter(BigInt(plantsMax - ids.length))}`,
      parameters,
    );
    for (const row of found) {
      ids.push(row.id);
      bytes.push(Number(row.bytes));
    }
    compared += Number(range?.plants);
    if (ids.length >= plantsMax) return { ids, bytes, next: ids.at(-1), compared };
    [start, from] = [end, way.after];
    // As many plants as the last range suggests for rangeMs, but at most four times as many as
    // before.
    const tookMs = Math.max(performance.now() - startedAt, rangeMs / 4);
    const rangePlantsMin = filter.words.length === 0 ? plainRangePlantsMin : 1;
    rangePlants = Math.ceil((rangePlants * rangeMs) / tookMs);
    rangePlants = Math.min(rangePlantsMax, Math.max(rangePlantsMin, rangePlants));
  }
}

async function creatorIds(sql: SqlConnection, name: string | undefined): Promise<bigint[] | undefined> {
  if (name === undefined) return undefined;
  const rows = await sql.query<{ id: bigint }>("SELECT id FROM creators WHERE name = $1", [name]);
  return rows.map(({ id }) => id);
}

/** The conditions of a filter, except for those of the id, each after an AND. */
function conditionsOf(
  collection: Collection,
  sql: SqlConnection,
  {
    words,
    values = {},
    missing = [],
    creators,
  }: Filter & { readonly creators: readonly bigint[] | undefined },
  parameter: (value: SqlValue) => string,
): string {
  const conditions = missing.map((field) => {
    const { of, column } = sortKey(collection, collection.fields.indexOf(field), sql.dialect);
    return `${of(column)} IS NULL`;
  });
  for (const condition of conditionsSent(searchable(collection), values))
    conditions.push(conditionSql(collection, condition, sql.dialect, parameter, false));
  if (creators !== undefined)
    conditions.push(`creator IN (${creators.map((creator) => parameter(creator)).join(", ")})`);
  const searched = { fields: searchedFields(collection), hasId: true };
  for (const word of words) conditions.push(containsSql(collection, searched, word, sql.dialect, parameter));
  return conditions.map((condition) => `AND ${condition}`).join(" ");
}
