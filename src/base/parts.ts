// Splits a list into parts.

/** The parts of a list, in order, each of at most a number of items. */
export function* parts<Item>(items: readonly Item[], itemsMax: number): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += itemsMax) yield items.slice(at, at + itemsMax);
}
