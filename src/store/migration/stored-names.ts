// Gives a contract the names that a store has for it: a collection keeps its table when its path is
// renamed, and two paths never share one.

import type { Collection, Contract } from "../../contract/contract.ts";
import { parseExactJson, toExactJson } from "../../json/exact-json.ts";

/** The former names of members by the tables of their collections, as a store keeps them. */
type Renamed = Readonly<Record<string, Collection["renamed"]>>;

/**
 * The tables of the collections, with their paths and the types of their columns by name: none of one
 * that was dropped, whose name stays with its path.
 */
export type StoredTables = ReadonlyMap<
  string,
  { readonly path: string; readonly columns: ReadonlyMap<string, string> }
>;

/** The parts of a store that its contract has besides its text. */
export interface StoredNames {
  readonly number?: number;
  readonly tables?: StoredTables;
  /** See renamedJson. */
  readonly renamed?: string | null;
}

/** A contract with the tables that a store has for its paths, and free names for other paths. */
export function withStoredNames(
  contract: Contract,
  { number, tables = new Map(), renamed = null }: StoredNames = {},
): Contract {
  const former: Renamed = renamed === null ? {} : (parseExactJson(renamed) as Renamed);
  // A collection that has the path of a dropped one by another name comes later.
  const inOrder = [...tables].toSorted(([, one], [, other]) => one.columns.size - other.columns.size);
  const byPath = new Map(inOrder.map(([table, { path }]) => [path, table]));
  const taken = new Set(tables.keys());
  const collections = contract.collections.map((collection) => {
    const stored = byPath.get(collection.path);
    if (stored !== undefined)
      return {
        ...collection,
        table: stored,
        renamed: former[stored] ?? {},
        contractNumber: number,
        marker: tables.get(stored)?.columns.keys().find(isMarker),
      };
    const table = taken.has(collection.table) ? distinctName(collection) : collection.table;
    taken.add(table);
    return { ...collection, table, contractNumber: number };
  });
  return { ...contract, number, collections };
}

/** The start of the names of the columns that mark tables, before the number of a contract. */
const markerPrefix = "x_contract_";

function isMarker(column: string): boolean {
  return column.startsWith(markerPrefix);
}

/** The marker of a table that is created, or restricted in another way, by a contract. */
export function markerOf(number: number): string {
  return markerPrefix + number;
}

/** Writes what an acknowledged create of a collection depends on as a text, to be compared. */
export function requirementsOf({ id, fields, body, operations, ...collection }: Collection): string {
  const { path, allowsOthers, ignored, wrapper, requiresKey } = collection;
  const { status, access, checked } = operations.create;
  return toExactJson([
    [path, allowsOthers, ignored, wrapper ?? null, requiresKey, status, access],
    checked?.map(({ in: where, name, isRequired, check }) => [where, name, isRequired, check.expected]) ??
      null,
    [id.name, id.type.kind, id.restrictions, id.isRequired, id.isAccepted, id.format ?? null],
    fields.map(({ name, type, isRequired, restrictions, default: usual }) => [
      ...[name, type.kind, isRequired, restrictions],
      usual === undefined ? null : type.toJson(usual),
    ]),
    body?.restrictions ?? null,
  ]);
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
