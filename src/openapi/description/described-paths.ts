// Finds the paths that belong to a collection: its own, and those of one of its resources.

import { isObject } from "../../json/json-values.ts";
import type { Place } from "../document/place.ts";
import { collectionPath } from "./described-operation.ts";

/** A path of one resource, such as /pets/{petId} or /pets/{petId}/: its collection's, and the rest. */
const itemPath = /^(.*)\/\{[^/{}]+\}\/?$/s;

/** The paths by that of their collection without a slash at its end: once for each description. */
const indexes = new WeakMap<object, ReadonlyMap<string, readonly string[]>>();

/** The paths of a collection and of one of its resources, in the order of the description. */
export function pathsOf(root: Place, collection: string): readonly string[] {
  const { object } = root.at("paths");
  if (!isObject(object)) return [];
  const index = indexes.get(object) ?? indexed(Object.keys(object));
  indexes.set(object, index);
  return index.get(collectionPath(collection)) ?? [];
}

function indexed(paths: readonly string[]): Map<string, string[]> {
  const index = new Map<string, string[]>();
  for (const path of paths)
    for (const collection of new Set([collectionPath(path), itemPath.exec(path)?.[1]]))
      if (collection !== undefined) index.set(collection, [...(index.get(collection) ?? []), path]);
  return index;
}
