// Writes the SQL of a sorted page: values that are null come last, and ids break ties, in the direction
// of the first property, so that one index serves both directions.

import type { Collection } from "../../contract/contract.ts";
import type { OrderTerm } from "../../contract/list-order.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlConnection, SqlValue } from "../sql-connection.ts";
import { type SortKey, sortKey } from "./sort-key.ts";

/** The order of a page, and where it begins: plain data. */
export interface PageOrder {
  /** The stored values by which it is sorted, as columns whose names begin with orderPrefix. */
  readonly columns: string;
  /** Rows with a value of the first property, and those without one. */
  readonly parts: readonly OrderPart[];
}

export interface OrderPart {
  readonly where: string;
  /** The parameters of `where`, after those of the filter. */
  readonly parameters: readonly SqlValue[];
  readonly by: string;
}

/** The place of a plant in an order: the stored values by which it is sorted, and its id. */
export interface OrderPlace {
  readonly values: readonly SqlValue[];
  readonly id: PlantId;
}

/** No property has such a name, which ORDER BY would find before that of a column. */
const orderPrefix = "x order ";

export function orderKeys(
  collection: Collection,
  terms: readonly OrderTerm[],
  dialect: SqlConnection["dialect"],
): SortKey[] {
  return terms.map(({ key }) => sortKey(collection, key, dialect));
}

/** The values that orderColumns has selected. */
export function orderValues(row: object): SqlValue[] {
  return Object.entries(row).flatMap(([name, value]) => (name.startsWith(orderPrefix) ? [value] : []));
}

/** The stored values of a row by which it is sorted, as columns. */
export function orderColumns(keys: readonly SortKey[]): string {
  return keys.map(({ column }, index) => `${column} AS "${orderPrefix}${index}"`).join(", ");
}

/**
 * @param after the place after which the page begins; undefined for the first.
 * @param firstParameter the number of the first parameter.
 */
export function pageOrder(
  collection: Collection,
  terms: readonly OrderTerm[],
  dialect: SqlConnection["dialect"],
  after: OrderPlace | undefined,
  firstParameter: number,
): PageOrder {
  const parameters: SqlValue[] = [];
  const bind = (value: SqlValue) => `$${firstParameter - 1 + parameters.push(value)}`;
  const keys = orderKeys(collection, terms, dialect).map((key, index) => {
    const sql = key.of(key.column);
    const { isDescending = false } = terms[index] ?? {};
    const stored = after?.values[index] ?? null;
    const value = stored === key.nullText ? null : stored;
    const parameter = `${value === null ? "" : bind(value)}${dialect === "postgres" ? `::${key.type}` : ""}`;
    const beyond = isDescending ? "<" : ">";
    const by = `${key.isNullable && index > 0 ? `${sql} IS NULL, ` : ""}${sql}${isDescending ? " DESC" : ""}`;
    return { ...key, sql, by, beyond, value: value === null ? undefined : key.of(parameter) };
  });
  const isBackward = terms[0]?.isDescending === true;
  const byId = `id${isBackward ? " DESC" : ""}`;
  const idBeyond = after && `id ${isBackward ? "<" : ">"} ${bind(after.id)}`;
  /** The rows after the place, of those that are equal in the properties before. */
  const restFrom = (index: number): string => {
    const key = keys[index];
    if (key === undefined) return idBeyond ?? "true";
    const { sql, value, beyond, isNullable } = key;
    if (value === undefined) return `(${sql} IS NULL AND ${restFrom(index + 1)})`;
    const orNull = isNullable ? ` OR ${sql} IS NULL` : "";
    return `(${sql} ${beyond} ${value}${orNull} OR (${sql} = ${value} AND ${restFrom(index + 1)}))`;
  };
  const [first, ...others] = keys;
  if (first === undefined) throw new Error("An order has no properties");
  const { sql, value, beyond, isNullable } = first;
  const byOf = (own: typeof keys) => [...own.map(({ by }) => by), byId].join(", ");
  const isEnd = after !== undefined && value === undefined;
  // The first condition is a range of an index, which a choice between two is not.
  const start =
    value === undefined
      ? `${sql} IS NOT NULL`
      : `${sql} ${beyond}= ${value} AND (${sql} ${beyond} ${value} OR ${restFrom(1)})`;
  const withValue = { where: ` AND ${isNullable || after ? start : "true"}`, parameters, by: byOf(keys) };
  const without = isEnd
    ? { where: ` AND ${sql} IS NULL AND ${restFrom(1)}`, parameters, by: byOf(others) }
    : { where: ` AND ${sql} IS NULL`, parameters: [], by: byOf(others) };
  return {
    columns: orderColumns(keys),
    parts: [...(isEnd ? [] : [withValue]), ...(isNullable ? [without] : [])],
  };
}
