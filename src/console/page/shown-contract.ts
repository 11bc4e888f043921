// Holds the contract of the store that the page shows, and its collection in view. The server sends
// the contract with the session, before anything else is rendered.

import type { PageCollection, PageContract, PageField } from "../page-contract.ts";
import { formatCount } from "./formats.ts";

export let contract: PageContract = { service: "", collections: [] };

/** Gives a contract without collections its words. */
const none: PageCollection = {
  name: "",
  one: "resource",
  many: "resources",
  path: "",
  id: { name: "id", isText: true, hint: "", isMade: true },
  fields: [],
  title: -1,
  group: -1,
  searched: [],
  sampleBody: "",
};

export let collection = none;

export function useContract(received: PageContract): void {
  contract = received;
  showCollection("");
}

/** The first collection if there is none of that name. */
export function collectionNamed(name: string): PageCollection {
  return contract.collections.find((each) => each.name === name) ?? contract.collections[0] ?? none;
}

export function showCollection(name: string): void {
  collection = collectionNamed(name);
}

/**
 * The parameter of addresses and requests that says which collection is in view, where there are
 * several.
 */
export function collectionParameters(): [name: string, value: string][] {
  return contract.collections.length > 1 ? [["collection", collection.name]] : [];
}

/** The field that groups; undefined if there is none. */
export function groupField(): PageField | undefined {
  return collection.fields[collection.group];
}

/** Such as "1 plant" and "1,200 plants". */
export function formatPlants(count: number): string {
  return formatCount(count, collection.one, collection.many);
}
