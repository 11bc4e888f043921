// The address of what is shown, after the # of the page's own: a search, its order and page, and an
// open plant. It survives a reload, and can be sent to another operator.

import { type Order, orders } from "../orders.ts";

export interface Address {
  query: string;
  order: Order;
  isDescending: boolean;
  after: string;
  before: string;
  plant: string;
}

const start: Address = { query: "", order: "id", isDescending: true, after: "", before: "", plant: "" };

export function readAddress(): Address {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const order = orders.find((each) => each === parameters.get("sort")) ?? "id";
  return {
    query: parameters.get("q") ?? "",
    order,
    isDescending: parameters.get("direction") !== "ascending",
    after: parameters.get("after") ?? "",
    before: parameters.get("before") ?? "",
    plant: parameters.get("plant") ?? "",
  };
}

export function linkTo(address: Partial<Address>) {
  const { query, order, isDescending, after, before, plant } = { ...start, ...address };
  const parameters = new URLSearchParams();
  if (query !== "") parameters.set("q", query);
  if (order !== "id") parameters.set("sort", order);
  if (!isDescending) parameters.set("direction", "ascending");
  if (after !== "") parameters.set("after", after);
  if (before !== "") parameters.set("before", before);
  if (plant !== "") parameters.set("plant", plant);
  return `#${parameters}`;
}

/** Shows an address in the browser, as a new entry of its history or instead of the last one. */
export function showAddress(address: Address, how: "push" | "replace") {
  const link = linkTo(address);
  if (link === (location.hash || "#")) return;
  if (how === "push") history.pushState(null, "", link);
  else history.replaceState(null, "", link);
}
