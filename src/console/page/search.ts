// Searches plants, page by page. The server compares plants for a limited time, so a page may take
// several requests: what is found so far is shown, and the search can be stopped and continued.

import type { listPlants } from "../calls/plant-calls.ts";
import type { Address } from "./address.ts";
import { type Answer, errorMessage, get } from "./api.ts";
import { useLayoutEffect, useRef, useState } from "./library.js";
import { parseQuery } from "./query.ts";

type Part = Answer<typeof listPlants>;

export type ListedPlant = Part["plants"][number];

/** A page of a search, as far as it is known. */
export interface Page {
  /** The address that it belongs to. */
  query: string;
  after: string;
  plants: ListedPlant[];
  /** The id after which the search continues; null if all plants were compared. */
  next: string | null;
  compared: number;
  error: string;
}

/** At most what the server returns at once. */
const plantsPerPage = 50;

export function isFull({ plants }: Page) {
  return plants.length >= plantsPerPage;
}

/**
 * Loads a page when its address or a dependency changes. A search that is not understood leaves the
 * last page in place.
 */
export function useSearch({ query, after }: Address, dependencies: readonly unknown[]) {
  const [page, setPage] = useState<Page | null>(null);
  const [isRunning, setRunning] = useState(false);
  /** The number of the newest run; the results of earlier ones are dropped. */
  const newest = useRef(0);
  const start: Page = { query, after, plants: [], next: after, compared: 0, error: "" };

  const run = async (from: Page, isReload: boolean) => {
    const number = ++newest.current;
    setRunning(true);
    let found = from;
    do {
      const missing = plantsPerPage - found.plants.length;
      found = await loadPart(query, found.next ?? "", missing).then(
        ({ plants, next, compared }) => ({
          ...found,
          plants: [...found.plants, ...plants],
          next,
          compared: found.compared + compared,
          error: "",
        }),
        (failure) => ({ ...found, error: errorMessage(failure) }),
      );
      if (number !== newest.current) return;
      if (!isReload) setPage(found);
    } while (!isFull(found) && found.next !== null && found.error === "");
    // A page that cannot be loaded again stays, below the error.
    setPage((last) =>
      isReload && last !== null && found.error !== "" ? { ...last, error: found.error } : found,
    );
    setRunning(false);
  };
  useLayoutEffect(() => {
    if (parseQuery(query).problem !== "") return;
    void run(start, page?.query === query && page.after === after);
  }, [query, after, ...dependencies]);
  const stop = () => {
    newest.current++;
    setRunning(false);
  };
  return { page, isRunning, stop, resume: () => page !== null && run(page, false) };
}

/** Finds the plants of a search, up to a number of them. */
export async function findAll(query: string, plantsMax: number) {
  const found: ListedPlant[] = [];
  let next: string | null = "";
  while (next !== null && found.length < plantsMax) {
    const part: Part = await loadPart(query, next, Math.min(plantsPerPage, plantsMax - found.length));
    found.push(...part.plants);
    next = part.next;
  }
  return { plants: found, isComplete: next === null };
}

function loadPart(query: string, after: string, count: number): Promise<Part> {
  const parameters = new URLSearchParams(parseQuery(query).parameters);
  if (after !== "") parameters.set("after", after);
  parameters.set("count", String(count));
  return get("plants", [...parameters]);
}
