// Chooses the contract to open a store with, which has its own, and says what a change adds and
// drops.

import { OperatorError } from "../../base/operator-error.ts";
import type { ContractCompiler } from "../../contract/compiler.ts";
import type { Collection, Contract, ContractSource, Field, Words } from "../../contract/contract.ts";
import { findRefusedReturn, isUnchanged, parseSchemas } from "./kept-schemas.ts";

/** A field of a collection that the store's contract does not have. */
export interface AddedField {
  readonly collection: Collection;
  readonly field: Field;
  /** Whether an earlier contract had it with the same schema, so that its values are valid. */
  readonly isKnown: boolean;
}

/** What the store's contract has, and the wanted one has not: a field, or a collection. */
export interface DroppedPart {
  readonly table: string;
  /** Undefined for a collection. */
  readonly field: Field | undefined;
  /** The name of the field, or the path of the collection. */
  readonly name: string;
  readonly words: Words;
}

/** How a contract differs from that of a store. */
export interface ContractChange {
  /** The store's own; undefined for a store that is new. */
  readonly from: ContractSource | undefined;
  readonly added: readonly AddedField[];
  readonly addedPaths: readonly string[];
  readonly dropped: readonly DroppedPart[];
}

/** The creation of a store, or a change of its contract: what it adds and drops, for people. */
export interface MigrationReport {
  readonly isNew: boolean;
  readonly added: readonly string[];
  readonly dropped: readonly string[];
}

/** The change of a contract that stays as it is, or that of a new store. */
export function noChange(from?: ContractSource): ContractChange {
  return { from, added: [], addedPaths: [], dropped: [] };
}

/**
 * The contract to open a store with: the one that is wanted, if the store can take it over, or else
 * its own. Rejects with an OperatorError.
 *
 * @param own undefined for a store that is new.
 * @param schemas those that the store has kept.
 * @param compiler reads them.
 */
export async function chooseContract(
  own: ContractSource | undefined,
  schemas: string | null,
  wanted: ContractSource | undefined,
  compiler: ContractCompiler,
): Promise<{ readonly contract: Contract; readonly change: ContractChange }> {
  const change = noChange(own);
  const isSame = wanted === undefined || own === undefined || isSameSource(own, wanted);
  const chosen = wanted ?? own;
  const json = chosen?.json ?? own?.json;
  if (isSame) return { contract: await compiler.readContract(chosen && { ...chosen, json }), change };
  const [stored, contract] = [await compiler.readContract(own), await compiler.readContract(wanted)];
  const comparison = await compiler.loadComparison();
  const kept = parseSchemas(schemas);
  const added = contract.collections.flatMap((collection) => {
    const { table, path, fields } = collection;
    const before = stored.collections.find((each) => each.table === table);
    const earlier = kept.get(table);
    const refused = before
      ? comparison.findRefusedChange(before, collection)
      : earlier && findRefusedReturn(earlier, collection, comparison);
    if (refused !== undefined) {
      const where = contract.collections.length > 1 ? `of ${path}, ` : "";
      throw new OperatorError(
        `the store has another contract, which it keeps: ${where}${refused}; name a contract that fits, or another store`,
      );
    }
    const names = new Set(before?.fields.map(({ name }) => name));
    return fields
      .filter(({ name }) => !names.has(name))
      .map((field) => ({ collection, field, isKnown: isUnchanged(earlier, field, comparison) }));
  });
  const dropped = stored.collections.flatMap(({ table, path, words, fields }): DroppedPart[] => {
    const after = contract.collections.find((each) => each.table === table);
    if (after === undefined) return [{ table, field: undefined, name: path, words }];
    const names = new Set(after.fields.map(({ name }) => name));
    return fields
      .filter(({ name }) => !names.has(name))
      .map((field) => ({ table, field, name: field.name, words }));
  });
  const tables = new Set(stored.collections.map(({ table }) => table));
  const addedPaths = contract.collections.filter(({ table }) => !tables.has(table)).map(({ path }) => path);
  return { contract, change: { from: own, added, addedPaths, dropped } };
}

/** Counts the plants that have values of what a contract drops. */
export function countSql({ table, field }: DroppedPart): string {
  return `SELECT count(${field?.column ?? "*"}) AS plants FROM "${table}"`;
}

/**
 * A change of a contract for people. Throws an OperatorError if plants have values of what it drops
 * that the operator has not named.
 *
 * @param counts the plants that have values of each part that it drops.
 */
export function reportChange(
  { from, added, addedPaths, dropped }: ContractChange,
  counts: readonly number[],
  dropFields: readonly string[] = [],
): MigrationReport {
  const parts = dropped.map(({ field, name, words }, index) => {
    const count = counts[index] ?? 0;
    const plants = `${count.toLocaleString("en")} ${count === 1 ? words.one : words.many}`;
    return {
      name,
      count,
      text: field === undefined ? `${name} (${plants})` : `"${name}" (values in ${plants})`,
    };
  });
  const report = {
    isNew: from === undefined,
    added: [
      ...addedPaths,
      ...added
        .filter(({ collection }) => !addedPaths.includes(collection.path))
        .map(({ field }) => `"${field.name}"`),
    ],
    dropped: parts.map(({ text }) => text),
  };
  const lost = parts.filter(({ name, count }) => count > 0 && !dropFields.includes(name));
  if (lost.length === 0) return report;
  const gone = lost.map(({ text }) => text).join(", ");
  const adds = report.added.length === 0 ? "" : `, and adds ${report.added.join(", ")}`;
  const names = parts.filter(({ count }) => count > 0).map(({ name }) => name);
  throw new OperatorError(
    `the contract no longer has ${gone}${adds}; run "plantstore migrate" with this --contract and --drop-fields ${names.join(",")} to hide what it drops, which stays in the store`,
  );
}

export function isSameSource(one: ContractSource | undefined, other: ContractSource): boolean {
  return one?.text === other.text;
}
