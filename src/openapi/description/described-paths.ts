// Finds the paths that belong to a collection: its own, and those of one of its resources.

import { decodePercent } from "../../json/percent-encoding.ts";
import { type Place, readable } from "../document/place.ts";
import { collectionPath, isItemOf } from "./described-operation.ts";

/** The paths of a description, by those of collections without a slash at their end. */
interface PathIndex {
  /** The path itself, and those of one resource. */
  readonly own: ReadonlyMap<string, readonly string[]>;
  /** All that are one segment longer. */
  readonly below: ReadonlyMap<string, readonly string[]>;
}

/** The paths of a collection and of one of its resources, in the order of the description. */
export function pathsOf(root: Place, collection: string): readonly string[] {
  return indexOf(root).own.get(collectionPath(collection)) ?? [];
}

function indexOf(root: Place): PathIndex {
  return root.derive("paths", () => {
    const all = root.at("paths").members.map(([path]) => path);
    const above = (path: string) => collectionPath(path).replace(/\/[^/]*$/, "");
    return {
      own: grouped(all, (path) => [
        collectionPath(path),
        ...(isItemOf(above(path), path) ? [above(path)] : []),
      ]),
      below: grouped(all, (path) => [above(path)]),
    };
  });
}

function grouped(paths: readonly string[], keysOf: (path: string) => readonly string[]) {
  const groups = new Map<string, string[]>();
  for (const path of paths)
    for (const key of keysOf(path)) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [path]);
      else group.push(path);
    }
  return groups;
}

/** A path beside those of one resource, to which a request for some ids would go. */
export interface OtherPath {
  /** Its last segment, such as "count" or "{id}.pdf". */
  readonly segment: string;
  /** An id that has this path. */
  readonly example: string;
  /** Whether an id has this path. */
  readonly isAt: (id: string) => boolean;
}

/** The methods of one resource. */
const itemMethods = ["get", "put", "patch", "delete"];

/** The paths at which an id of a collection would not be found. */
export function otherPathsOf(root: Place, collection: string): OtherPath[] {
  const paths = root.at("paths");
  const start = `${collectionPath(collection)}/`;
  const methodsOf = (path: string) =>
    readable(() => itemMethods.filter((each) => paths.at(path, each).value !== undefined)) ?? [];
  const own = pathsOf(root, collection)
    .filter((each) => isItemOf(collection, each))
    .flatMap(methodsOf);
  if (own.length === 0) return [];
  return (indexOf(root).below.get(collectionPath(collection)) ?? [])
    .filter((path) => !isItemOf(collection, path) && methodsOf(path).some((each) => own.includes(each)))
    .map((path) => otherPath(path.slice(start.length).replace(/\/$/, "")));
}

function otherPath(segment: string): OtherPath {
  const texts = segment.split(/\{[^{}]*\}/).map(decodePercent);
  const [first = "", ...others] = texts;
  const last = others.pop();
  const isAt = (id: string) => {
    if (last === undefined) return id === first;
    let at = first.length;
    // Each parameter has at least one character.
    for (const text of others) {
      const found = id.indexOf(text, at + 1);
      if (found === -1) return false;
      at = found + text.length;
    }
    return id.startsWith(first) && id.endsWith(last) && id.length - last.length > at;
  };
  return { segment, example: texts.join("1"), isAt };
}
