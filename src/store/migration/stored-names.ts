// Gives a contract the names that a store has for it: a collection keeps its table when its path is
// renamed, and two paths never share one.

import type { Collection, Contract } from "../../contract/contract.ts";
import { parseExactJson, toExactJson } from "../../json/exact-json.ts";

/** The former names of members by the tables of their collections, as a store keeps them. */
type Renamed = Readonly<Record<string, Collection["renamed"]>>;

/**
 * A contract with the tables that a store has for its paths, and free names for other paths.
 *
 * @param tables the paths of the store's collections by their tables.
 * @param renamed see renamedJson.
 */
export function withStoredNames(
  contract: Contract,
  tables: ReadonlyMap<string, { readonly path: string }> = new Map(),
  renamed: string | null = null,
): Contract {
  const former: Renamed = renamed === null ? {} : (parseExactJson(renamed) as Renamed);
  const byPath = new Map([...tables].map(([table, { path }]) => [path, table]));
  const taken = new Set(tables.keys());
  const collections = contract.collections.map((collection) => {
    const stored = byPath.get(collection.path);
    if (stored !== undefined) return { ...collection, table: stored, renamed: former[stored] ?? {} };
    const table = taken.has(collection.table) ? distinctName(collection) : collection.table;
    taken.add(table);
    return { ...collection, table };
  });
  return { ...contract, collections };
}

/** The former names of members, as JSON. */
export function renamedJson({ collections }: Contract): string {
  return toExactJson(Object.fromEntries(collections.map(({ table, renamed }) => [table, renamed])));
}

/** A name for the table of a path whose own is taken by another path. No table of a contract has it. */
function distinctName({ table, path }: Collection): string {
  const digest = new Bun.CryptoHasher("sha256").update(path).digest("hex");
  return `x_${table.slice(0, 30)}_${digest.slice(0, 16)}`;
}
