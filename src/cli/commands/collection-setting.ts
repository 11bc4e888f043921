// Finds the collection that a command concerns, which --collection names where a contract has
// several.

import { OperatorError } from "../../base/operator-error.ts";
import type { Collection, Contract } from "../../contract/contract.ts";

/**
 * The collection with a name or a path, or else the only one. Throws an OperatorError if there is
 * none, or several and none is named.
 */
export function chosenCollection({ collections }: Contract, wanted: string | undefined): Collection {
  const found =
    wanted === undefined
      ? collections
      : collections.filter(({ name, path, describedPath }) => [name, path, describedPath].includes(wanted));
  const [collection, ...others] = found;
  if (collection !== undefined && others.length === 0) return collection;
  const names = collections.map(({ name }) => name).join(", ");
  throw new OperatorError(
    wanted === undefined
      ? `the store has several collections; name one with --collection: ${names}`
      : `the store has no collection ${JSON.stringify(wanted)}; it has ${names}`,
    2,
  );
}
