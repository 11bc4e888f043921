// Holds what a store acknowledged against what it has: an answer that stored nothing is not a create.

import { Database } from "../src/store/sqlite/driver.ts";
import type { Measurement } from "./rounds.ts";
import { whole } from "./table.ts";

export interface RowCount {
  readonly store: string;
  readonly acknowledged: number;
  readonly rows: number;
}

/**
 * Throws if a store has fewer rows than its contenders acknowledged in all runs. It may have more: wrk leaves at the
 * end of a run without waiting for the answers on their way.
 */
export function rowCount(
  store: string,
  rows: number,
  contenders: readonly string[],
  runs: readonly Measurement[],
): RowCount {
  const acknowledged = runs
    .filter(({ contender }) => contenders.includes(contender))
    .reduce((count, { requests }) => count + requests, 0);
  if (rows < acknowledged)
    throw new Error(`${store} acknowledged ${acknowledged} creates, but has ${rows} rows`);
  return { store, acknowledged, rows };
}

/** The rows of a SQLite store that was stopped. */
export function rowsInFile(file: string): number {
  const database = new Database(file, { readonly: true });
  try {
    return Number(database.query("SELECT count(*) FROM plants").values()[0]?.[0]);
  } finally {
    database.close();
  }
}

export function rowCountText({ store, acknowledged, rows }: RowCount): string {
  return `${store} acknowledged ${whole(acknowledged)} creates and has ${whole(rows)} rows`;
}
