// Writes a page of a list as JSON: an array, or an object with what the contract says of the page.

import type { ListContent, ListMembers, ListPart, ListShape } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";

/** The value of the parameter of the paging: undefined for the first page after no id. */
export type PageStart = PlantId | number | undefined;

/** A page that was read. */
export interface ListedPage {
  /** An array of plants. */
  readonly json: string;
  readonly count: number;
  readonly limit: number;
  /** The plants before it; undefined where the page begins after an id. */
  readonly offset: number | undefined;
  readonly start: PageStart;
  /** The start of the next page; undefined for the last one. */
  readonly next: PageStart;
  /** The number of all plants, where the list has it. */
  readonly total: number | undefined;
  /** The absolute address of the page with a start. */
  readonly addressOf: (start: PageStart) => string;
}

/**
 * Whether a list says something that follows from the number of all plants.
 *
 * @param isNeeded whether it has to.
 */
export function countsAll(members: ListMembers = [], isNeeded = false): boolean {
  const counted: readonly ListContent[] = ["total", "pages", "lastUrl"];
  return members.some(
    ([, holds, isOptional]) =>
      (counted.includes(holds) && !(isNeeded && isOptional)) ||
      (typeof holds === "object" && "members" in holds && countsAll(holds.members, isNeeded)),
  );
}

/** The JSON of a list. */
export function listJson({ members, paging, firstPage }: ListShape, page: ListedPage): string {
  const { json, count, limit, offset, start, next, total, addressOf } = page;
  if (members === undefined) return json;
  const isFirst = start === undefined || offset === 0;
  const isEmpty = count === 0;
  const last = total === undefined ? undefined : Math.max(Math.ceil(total / limit), 1);
  // The start of the page that has a number, from 0.
  const startOf = {
    after: undefined,
    offset: (number: number) => number * limit,
    page: (number: number) => number + firstPage,
  }[paging];
  const addressOfPage = (number: number) => addressOf(startOf?.(number));
  const current = offset === undefined ? 0 : Math.floor(offset / limit);
  const parts: Readonly<Record<Exclude<ListPart, "plants">, () => string | number | boolean | null>> = {
    limit: () => limit,
    offset: () => offset ?? null,
    page: () => current + firstPage,
    total: () => total ?? null,
    pages: () => last ?? null,
    onPage: () => count,
    from: () => (isEmpty || offset === undefined ? null : offset + 1),
    to: () => (isEmpty || offset === undefined ? null : offset + count),
    hasMore: () => next !== undefined,
    hasPrevious: () => !isFirst,
    isFirst: () => isFirst,
    isLast: () => next === undefined,
    isEmpty: () => isEmpty,
    nextCursor: () => (typeof next === "bigint" || next === undefined ? (next?.toString() ?? null) : next),
    nextUrl: () => (next === undefined ? null : addressOf(next)),
    // A page after an id says nothing about those before it.
    previousUrl: () => (isFirst || startOf === undefined ? null : addressOfPage(Math.max(current - 1, 0))),
    firstUrl: () => addressOf(startOf?.(0)),
    lastUrl: () => (startOf === undefined || last === undefined ? null : addressOfPage(last - 1)),
    url: () => addressOf(start),
  };
  const write = (all: ListMembers): string => {
    const written = all.flatMap(([name, holds, isOptional]) => {
      const value = contentOf(holds);
      return isOptional && value === "null" ? [] : [`${JSON.stringify(name)}:${value}`];
    });
    return `{${written.join(",")}}`;
  };
  const contentOf = (holds: ListContent): string => {
    if (typeof holds === "object") return "json" in holds ? holds.json : write(holds.members);
    return holds === "plants" ? json : JSON.stringify(parts[holds]());
  };
  return write(members);
}
