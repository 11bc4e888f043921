// Declares the indexes of the filters and orders that a description names. Only a collection with such
// lists has any.

import type { Collection } from "../../contract/contract.ts";
import type { ListKey } from "../../contract/list-order.ts";
import type { SqlConnection } from "../sql-connection.ts";
import { sortKey } from "./sort-key.ts";

type Dialect = SqlConnection["dialect"];

/** The start of their names. */
export const listIndexPrefix = "x_list_";

export interface ListIndex {
  /** Another one for another expression. */
  readonly name: string;
  readonly collection: Collection;
  /** The member whose values it has, for operators. */
  readonly member: string;
  /** The table and the columns. */
  readonly on: string;
}

/** Whether an index has the plants of a collection by a value. */
export function isIndexed({ list }: Collection, key: ListKey | "any"): boolean {
  const isNamed = list.filters.some(
    (filter) => filter.key === key && filter.operator !== "ne" && filter.operator !== "contains",
  );
  return key !== "any" && (key === "id" || isNamed || list.sort?.named.includes(key) === true);
}

export function listIndexes(collections: readonly Collection[], dialect: Dialect): ListIndex[] {
  return collections.flatMap((collection) => {
    const { list, table } = collection;
    const keys = [...list.filters.map(({ key }) => key), ...(list.sort?.named ?? [])];
    return [...new Set(keys)].flatMap((key) => {
      if (key === "any" || key === "id" || !isIndexed(collection, key)) return [];
      const { of, column } = sortKey(collection, key, dialect);
      const on = `"${table}" ((${of(column)})${dialect === "postgres" ? ", id" : ""})`;
      const digest = new Bun.CryptoHasher("sha256").update(on).digest("hex");
      const member = typeof key === "number" ? (collection.fields[key]?.name ?? "") : key;
      return [{ name: listIndexPrefix + digest.slice(0, 16), collection, member, on }];
    });
  });
}
