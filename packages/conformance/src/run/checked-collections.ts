// Chooses the collections of a contract that a run checks, each with its rules, and those that it
// skips.

import { OperatorError } from "../../../../src/base/operator-error.ts";
import type { Collection, Contract } from "../../../../src/contract/contract.ts";
import { Contents } from "../requests/contents.ts";
import { rulesFor } from "../rules/all-rules.ts";
import type { ConformanceRule } from "../rules/rule.ts";

/** A collection, and its rules or why none of them is checked. */
export type CheckedCollection =
  | { readonly name: string; readonly contents: Contents; readonly rules: readonly ConformanceRule[] }
  | SkippedCollection;

interface SkippedCollection {
  readonly name: string;
  readonly skipped: OperatorError;
}

/**
 * Returns all collections, or the one with a name or a path. Throws an OperatorError if there is no
 * such collection.
 */
export function chooseCollections(
  { collections }: Contract,
  wanted: string | undefined,
): readonly Collection[] {
  if (wanted === undefined) return collections;
  const found = collections.find(({ name, path, describedPath }) =>
    [name, path, describedPath].includes(wanted),
  );
  if (found !== undefined) return [found];
  const names = collections.map(({ name }) => name).join(", ");
  throw new OperatorError(
    `--collection: ${JSON.stringify(wanted)} is no collection of the contract; it has ${names}`,
    2,
  );
}

/** A collection with all of its rules; skipped if the rules cannot make its plants. */
export function checkable(contract: Contract, collection: Collection): CheckedCollection {
  const { name } = collection;
  try {
    const contents = new Contents(contract, collection);
    return { name, contents, rules: rulesFor(contents) };
  } catch (error) {
    if (error instanceof OperatorError) return { name, skipped: error };
    throw error;
  }
}
