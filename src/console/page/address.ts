// Reads and writes what is shown in the page's address, after its #: the collection where there are
// several, a search, its page, and an open plant. It survives a reload, and can be sent to another
// operator.

import { collectionParameters } from "./shown-contract.ts";

/** The address of what is shown of the collection in view. */
export interface Address {
  query: string;
  /** The id after which the page begins; "" for the first page. */
  after: string;
  plant: string;
}

export function readAddress(): Address {
  const parameters = new URLSearchParams(location.hash.slice(1));
  return {
    query: parameters.get("q") ?? "",
    after: parameters.get("after") ?? "",
    plant: parameters.get("plant") ?? "",
  };
}

/** The name of the collection in the address; "" if it has none. */
export function readCollection(): string {
  return new URLSearchParams(location.hash.slice(1)).get("collection") ?? "";
}

export function linkTo({ query, after, plant }: Address, where = collectionParameters()) {
  const parameters = Object.entries({ q: query, after, plant }).filter(([, value]) => value !== "");
  return `#${new URLSearchParams([...where, ...parameters])}`;
}

/** The link to a collection, or to one of its plants. */
export function collectionAddress(name: string, plant = "") {
  return linkTo({ query: "", after: "", plant }, [["collection", name]]);
}

/** Shows an address in the browser, as a new entry of its history or instead of the last one. */
export function showAddress(address: Address, how: "push" | "replace") {
  const link = linkTo(address);
  if (link === (location.hash || "#")) return;
  if (how === "push") history.pushState(null, "", link);
  else history.replaceState(null, "", link);
}
