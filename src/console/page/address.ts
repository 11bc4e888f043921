// The address of what is shown, after the # of the page's own: a search, its page, and an open
// plant. It survives a reload, and can be sent to another operator.

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

export function linkTo({ query, after, plant }: Address) {
  const parameters = Object.entries({ q: query, after, plant }).filter(([, value]) => value !== "");
  return `#${new URLSearchParams(parameters)}`;
}

/** Shows an address in the browser, as a new entry of its history or instead of the last one. */
export function showAddress(address: Address, how: "push" | "replace") {
  const link = linkTo(address);
  if (link === (location.hash || "#")) return;
  if (how === "push") history.pushState(null, "", link);
  else history.replaceState(null, "", link);
}
