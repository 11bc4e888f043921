// Writes the SQL of the order of a list: values that are null come last, and ids break ties, in the
// direction of the first property, so that one index serves both directions.

import type { Collection } from "../../contract/contract.ts";
import type { OrderTerm } from "../../contract/list-order.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlConnection, SqlValue } from "../sql-connection.ts";
import { type SortKey, sortKey } from "./sort-key.ts";

/** The place of a plant in an order: the stored values by which it is sorted, and its id. */
export interface OrderPlace {
  readonly values: readonly SqlValue[];
  readonly id: PlantId;
}

/** Adds a parameter to a statement, and returns its name. */
export type Bind = (value: SqlValue) => string;

export interface PageOrder {
  /** The id, and the stored values by which plants are sorted, as columns; see placeIn. */
  readonly columns: string;
  /** Plants with a value of the first property, and those without one. */
  readonly parts: readonly OrderPart[];
}

export interface OrderPart {
  readonly by: string;
  /** Whether it has plants after a place. */
  isAfter(place: OrderPlace | undefined): boolean;
  /** The condition on its plants between two places, of which the second is included. */
  between(bind: Bind, after: OrderPlace | undefined, upTo?: OrderPlace): string;
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

/** The place of a row that has the columns of an order. */
export function placeIn(row: { readonly id: PlantId }): OrderPlace {
  const values = Object.entries(row).flatMap(([name, value]) =>
    name.startsWith(orderPrefix) ? [value] : [],
  );
  return { values, id: row.id };
}

export function orderColumns(keys: readonly SortKey[]): string {
  return ["id", ...keys.map(({ column }, index) => `${column} AS "${orderPrefix}${index}"`)].join(", ");
}

export function pageOrder(
  collection: Collection,
  terms: readonly OrderTerm[],
  dialect: SqlConnection["dialect"],
): PageOrder {
  const keys = orderKeys(collection, terms, dialect).map((key, index) => {
    const sql = key.of(key.column);
    const isDescending = terms[index]?.isDescending === true;
    const by = `${key.isNullable && index > 0 ? `${sql} IS NULL, ` : ""}${sql}${isDescending ? " DESC" : ""}`;
    return { ...key, sql, by, beyond: isDescending ? "<" : ">" };
  });
  const [first] = keys;
  const beyondId = terms[0]?.isDescending ? "<" : ">";
  const byOf = (own: typeof keys) =>
    [...own.map(({ by }) => by), beyondId === "<" ? "id DESC" : "id"].join(", ");
  const isWithout = (place: OrderPlace, index: number) => {
    const value = place.values[index] ?? null;
    return value === null || value === keys[index]?.nullText;
  };
  const boundOf = (bind: Bind, place: OrderPlace, index: number) => {
    const { of, type } = keys[index] as SortKey;
    return of(`${bind(place.values[index] ?? null)}${dialect === "postgres" ? `::${type}` : ""}`);
  };
  /** The plants after a place, of those that are equal in the properties before `index`. */
  const after = (bind: Bind, place: OrderPlace, index: number): string => {
    const key = keys[index];
    if (key === undefined) return `id ${beyondId} ${bind(place.id)}`;
    const { sql, beyond, isNullable } = key;
    if (isWithout(place, index)) return `(${sql} IS NULL AND ${after(bind, place, index + 1)})`;
    const orNull = isNullable && index > 0 ? ` OR ${sql} IS NULL` : "";
    return `(${sql} ${beyond} ${boundOf(bind, place, index)}${orNull} OR (${sql} = ${boundOf(bind, place, index)} AND ${after(bind, place, index + 1)}))`;
  };
  const notAfter = (bind: Bind, place: OrderPlace, index: number) =>
    keys[index] === undefined
      ? `id ${beyondId === ">" ? "<=" : ">="} ${bind(place.id)}`
      : `NOT ${after(bind, place, index)}`;
  /** A range of an index, which the choice in `after` is not. */
  const range = (bind: Bind, place: OrderPlace | undefined, isEnd: boolean) => {
    if (place === undefined || first === undefined) return [];
    const isBack = (first.beyond === "<") !== isEnd;
    return [`${first.sql} ${isBack ? "<=" : ">="} ${boundOf(bind, place, 0)}`];
  };
  const partOf = (
    own: typeof keys,
    index: number,
    condition: string | undefined,
    isRanged: boolean,
  ): OrderPart => ({
    by: byOf(own),
    isAfter: (place) => !isRanged || place === undefined || first === undefined || !isWithout(place, 0),
    between(bind, from, upTo) {
      // A place after all plants with a value is none among those without.
      const start = from !== undefined && (isRanged || isWithout(from, 0)) ? from : undefined;
      const ranges = isRanged ? [...range(bind, start, false), ...range(bind, upTo, true)] : [];
      const all = [
        // A comparison says that there is a value, and SQLite uses one of two.
        ...(condition === undefined || ranges.length > 0 ? [] : [condition]),
        ...ranges,
        ...(start === undefined ? [] : [after(bind, start, index)]),
        ...(upTo === undefined ? [] : [notAfter(bind, upTo, index)]),
      ];
      return all.length === 0 ? "true" : all.join(" AND ");
    },
  });
  const isNullable = first?.isNullable === true;
  return {
    columns: orderColumns(keys),
    parts: [
      partOf(keys, 0, isNullable ? first.isPresent(first.sql) : undefined, true),
      ...(isNullable ? [partOf(keys.slice(1), 1, `${first.sql} IS NULL`, false)] : []),
    ],
  };
}
