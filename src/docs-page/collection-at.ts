// Finds the collection of an operation: the one whose path it is at or below.

import type { Collection, Contract } from "../contract/contract.ts";
import { encodePath } from "../json/percent-encoding.ts";

/** Returns what finds the collection with the longest such path; undefined for an operation of none. */
export function collectionFinder({
  collections,
}: Pick<Contract, "collections">): (path: string) => Collection | undefined {
  const withoutSlash = (path: string) => path.replace(/\/$/, "");
  const byPath = new Map(collections.toReversed().map((each) => [withoutSlash(each.path), each]));
  return (path) => {
    for (let start = withoutSlash(encodePath(path)); ; start = start.slice(0, start.lastIndexOf("/"))) {
      const found = byPath.get(start);
      if (found !== undefined || start === "") return found;
    }
  };
}
