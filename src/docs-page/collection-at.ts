// Finds the collection of an operation: the one whose path it is at or below.

import type { Collection, Contract } from "../contract/contract.ts";
import { encodePath } from "../json/percent-encoding.ts";

/** The collection with the longest such path; undefined for an operation of none. */
export function collectionAt(
  { collections }: Pick<Contract, "collections">,
  path: string,
): Collection | undefined {
  const start = ({ path }: Collection) => `${path.replace(/\/$/, "")}/`;
  const below = collections.filter((each) => `${encodePath(path)}/`.startsWith(start(each)));
  return below.toSorted((one, other) => start(other).length - start(one).length)[0];
}
