// Writes the SQL of the conditions that a list was asked for with.

import { type Collection, filterOperators, type ListFilter } from "../../contract/contract.ts";
import type { SqlConnection, SqlValue } from "../sql-connection.ts";
import { isIndexed } from "./list-indexes.ts";
import type { Bind } from "./page-order.ts";
import { sortKey } from "./sort-key.ts";
import { containsSql, searchedFields } from "./text-search.ts";

type Dialect = SqlConnection["dialect"];

/** A condition on the plants of a list: plain data. */
export interface Condition extends Pick<ListFilter, "key" | "operator"> {
  /** One has to fit, but all for "ne" and "contains". */
  readonly values: readonly ConditionValue[];
}

export interface ConditionValue {
  readonly value: SqlValue;
  /** The operator of its condition, unless it is the end of a day. */
  readonly operator: ListFilter["operator"];
  /** Whether it is what a plant without a value has. */
  readonly isFallback: boolean;
}

/** Whether an index has the plants of a condition together. */
export function isByIndex(collection: Collection, { key, operator }: Condition): boolean {
  return operator !== "ne" && operator !== "contains" && isIndexed(collection, key);
}

/** Whether the plants of a condition are in the order of their ids in its index. */
export function isInIdOrder({ operator, values }: Condition): boolean {
  return operator === "eq" && values.length === 1 && values[0]?.isFallback === false;
}

/** @param usesIndex false keeps SQLite from an index that another one is better than. */
export function conditionSql(
  collection: Collection,
  { key, operator, values }: Condition,
  dialect: Dialect,
  bind: Bind,
  usesIndex = true,
): string {
  if (operator === "contains") {
    // Nobody may find by what is not shown.
    const shown = searchedFields(collection).filter(({ shown }) => shown === true);
    const field = typeof key === "number" ? collection.fields[key] : undefined;
    const searched = { fields: field === undefined ? shown : [field], hasId: key === "any" };
    const words = values.map(({ value }) => containsSql(collection, searched, String(value), dialect, bind));
    return `(${words.join(" AND ")})`;
  }
  const { column, of, type, whole } = sortKey(collection, key === "any" ? "id" : key, dialect);
  const own = `${usesIndex || dialect === "postgres" ? "" : "+"}${of(column)}`;
  const each = values.map(({ value, operator: compared, isFallback }) => {
    const bound = () => `${bind(value)}${dialect === "postgres" ? `::${type}` : ""}`;
    const sign = filterOperators[compared as keyof typeof filterOperators];
    const isWhole = whole === undefined;
    // The beginning of a value that is greater may be the same.
    const startSign = isWhole || compared === "eq" ? sign : `${sign[0]}=`;
    const all = [
      ...(isWhole || compared !== "ne" ? [`${own} ${startSign} ${of(bound())}`] : []),
      ...(isWhole ? [] : [`${whole(column)} ${sign} ${whole(bound())}`]),
    ];
    const fits = all.length === 1 ? all.join() : `(${all.join(" AND ")})`;
    // A plant without a value has the fallback, or is another one.
    return (compared === "ne") !== isFallback ? `(${fits} OR ${own} IS NULL)` : fits;
  });
  return `(${each.join(operator === "ne" ? " AND " : " OR ")})`;
}
