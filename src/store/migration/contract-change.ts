// Compares the contract of a store with one that is wanted: what that adds, renames, restricts and
// drops. Collections are compared by their paths, and members by their names.

import { OperatorError } from "../../base/operator-error.ts";
import type { Collection, Contract, ContractSource, Field, Words } from "../../contract/contract.ts";
import { isSameKind } from "../../contract/stored-types.ts";

/** A collection that the contract keeps, as the store has it and as it is to be. */
export interface KeptCollection {
  readonly stored: Collection;
  readonly wanted: Collection;
  /** The fields that stay, perhaps under another name. */
  readonly fields: readonly (readonly [stored: Field, wanted: Field])[];
  readonly added: readonly Field[];
  /** Whether a stored resource may not fit, so that all of them are read first. */
  readonly isRestricted: boolean;
}

/** A field or a collection that the store's contract has, and the wanted one has not. */
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
  readonly kept: readonly KeptCollection[];
  readonly added: readonly Collection[];
  readonly dropped: readonly DroppedPart[];
}

/** The creation of a store, or a change of its contract, for people. */
export interface MigrationReport {
  readonly isNew: boolean;
  readonly added: readonly string[];
  readonly renamed: readonly string[];
  readonly dropped: readonly string[];
}

/** New names of fields, ids and paths of collections, by those that the store's contract has. */
export type Renames = ReadonlyMap<string, string>;

/** The creation of a store. */
export function newStore(contract: Contract): ContractChange {
  return { from: undefined, kept: [], added: contract.collections, dropped: [] };
}

/** The change of a contract whose text stays as it is. */
export function sameContract(contract: Contract): ContractChange {
  const kept = contract.collections.map(
    (each): KeptCollection => ({
      stored: each,
      wanted: each,
      fields: each.fields.map((field) => [field, field]),
      added: [],
      isRestricted: false,
    }),
  );
  return { from: contract.source, kept, added: [], dropped: [] };
}

/**
 * Compares two contracts, and throws an OperatorError if a value would need another type of column.
 *
 * @param stored the store's, with the names of its tables.
 */
export function compareContracts(
  stored: Contract,
  wanted: Contract,
  renames: Renames = new Map(),
): ContractChange & { readonly contract: Contract } {
  assertRenames(stored, wanted, renames);
  const kept: KeptCollection[] = [];
  const added: Collection[] = [];
  for (const collection of wanted.collections) {
    const before = stored.collections.find(({ path }) => (renames.get(path) ?? path) === collection.path);
    if (before === undefined) added.push(collection);
    else kept.push(compareCollections(before, collection, renames, wanted.collections.length > 1));
  }
  for (const { table, path } of added) {
    const now = kept.find((each) => each.stored.table === table)?.wanted.path;
    if (now !== undefined)
      throw new OperatorError(
        `${path} becomes ${now}, and its table has the former name until then; migrate to a contract without the new ${path} first`,
        2,
      );
  }
  const dropped = stored.collections.flatMap((before): DroppedPart[] => {
    const { table, path, words } = before;
    const after = kept.find((each) => each.stored === before);
    if (after === undefined) return [{ table, field: undefined, name: path, words }];
    const staying = new Set(after.fields.map(([field]) => field));
    return before.fields
      .filter((field) => !staying.has(field))
      .map((field) => ({ table, field, name: field.name, words }));
  });
  const final = new Map(kept.map((each) => [each.wanted.path, each.wanted]));
  const collections = wanted.collections.map((each) => final.get(each.path) ?? each);
  return { contract: { ...wanted, collections }, from: stored.source, kept, added, dropped };
}

/** Throws an OperatorError for a name that the store's contract does not have, or the other one keeps. */
function assertRenames(stored: Contract, wanted: Contract, renames: Renames): void {
  const [before, after] = [namesOf(stored), namesOf(wanted)];
  for (const [from, to] of renames) {
    const reason = !before.has(from)
      ? `the store's contract has no ${from}`
      : !after.has(to)
        ? `the contract has no ${to}`
        : undefined;
    if (reason !== undefined) throw new OperatorError(`--rename-fields ${from}=${to}: ${reason}`, 2);
  }
}

function namesOf({ collections }: Contract): ReadonlySet<string> {
  return new Set(
    collections.flatMap(({ path, id, fields }) => [path, id.name, ...fields.map(({ name }) => name)]),
  );
}

function compareCollections(
  stored: Collection,
  given: Collection,
  renames: Renames,
  isOfSeveral: boolean,
): KeptCollection {
  const own = new Map(given.fields.map((field) => [field.name, field]));
  const fields = stored.fields.flatMap((before): (readonly [Field, Field])[] => {
    const after = own.get(renames.get(before.name) ?? before.name);
    return after === undefined ? [] : [[before, after]];
  });
  for (const [before, after] of [[stored.id, given.id] as const, ...fields]) {
    if (isSameKind(before.type.kind, after.type.kind)) continue;
    const where = isOfSeveral ? `of ${given.path}, ` : "";
    throw new OperatorError(
      `the store has another contract, which it keeps: ${where}"${after.name}" was ${before.type.expected}, and would be ${after.type.expected}, which is stored in another way; give it another name, or export, and import into a new store`,
    );
  }
  const staying = new Map(fields.map(([before, after]) => [after, before]));
  const added = given.fields.filter((field) => !staying.has(field));
  const names = [[stored.id.name, given.id.name], ...fields.map(([one, other]) => [one.name, other.name])];
  const renamed = renamedMembers(stored, new Map(names as [string, string][]), given);
  const wanted = { ...given, table: stored.table, renamed, marker: stored.marker };
  return { stored, wanted, fields, added, isRestricted: isRestricted(stored, wanted, fields, added) };
}

/** Whether what the contract requires of values has changed in any way. */
function isRestricted(
  stored: Collection,
  wanted: Collection,
  fields: KeptCollection["fields"],
  added: readonly Field[],
): boolean {
  const mustBeThere = (field: Field) => field.isRequired && field.fill === undefined;
  return (
    stored.id.restrictions !== wanted.id.restrictions ||
    (wanted.body !== undefined && stored.body?.restrictions !== wanted.body.restrictions) ||
    added.some(mustBeThere) ||
    fields.some(
      ([before, after]) =>
        before.restrictions !== after.restrictions || (!before.isRequired && mustBeThere(after)),
    )
  );
}

/**
 * The names that members had in the history, with those that they have now. Throws an OperatorError
 * if a new member has the former name of another: the history has one under the name of the other.
 */
function renamedMembers(
  stored: Collection,
  names: ReadonlyMap<string, string>,
  { id, fields, path }: Collection,
): Collection["renamed"] {
  const earlier = Object.entries(stored.renamed).flatMap(([from, to]) => {
    const now = names.get(to);
    return now === undefined ? [] : [[from, now] as const];
  });
  const all = [...earlier, ...[...names].filter(([from, to]) => from !== to)];
  const current = new Set([id.name, ...fields.map(({ name }) => name)]);
  const reused = all.find(([from, to]) => from !== to && current.has(from));
  if (reused !== undefined)
    throw new OperatorError(
      `"${reused[0]}" of ${path} is "${reused[1]}" now, and the history has it under its former name; give the new property another name`,
      2,
    );
  return Object.fromEntries(all.filter(([from, to]) => from !== to));
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
  { from, kept, added, dropped }: ContractChange,
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
      ...(from === undefined ? [] : added).map(({ path }) => path),
      ...kept.flatMap((each) => each.added.map(({ name }) => `"${name}"`)),
    ],
    renamed: kept.flatMap(renamedParts),
    dropped: parts.map(({ text }) => text),
  };
  const lost = parts.filter(({ name, count }) => count > 0 && !dropFields.includes(name));
  if (lost.length === 0) return report;
  const gone = lost.map(({ text }) => text).join(", ");
  const adds = report.added.length === 0 ? "" : `, and adds ${report.added.join(", ")}`;
  const names = parts.filter(({ count }) => count > 0).map(({ name }) => name);
  throw new OperatorError(
    `the contract no longer has ${gone}${adds}; run "plantstore migrate" with this --contract and --rename-fields OLD=NEW for what has another name, or, after a backup, with --drop-fields ${names.join(",")} to delete the values`,
  );
}

function renamedParts({ stored, wanted, fields }: KeptCollection): string[] {
  const pairs = [[stored.id, wanted.id] as const, ...fields].filter(
    ([one, other]) => one.name !== other.name,
  );
  const paths = stored.path === wanted.path ? [] : [`${stored.path} to ${wanted.path}`];
  return [...paths, ...pairs.map(([one, other]) => `"${one.name}" to "${other.name}"`)];
}

export function isSameSource(one: ContractSource | undefined, other: ContractSource): boolean {
  return one?.text === other.text;
}
