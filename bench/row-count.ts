// Holds what a store acknowledged against what it has: an answer that stored nothing is not a create.

import { Database } from "../src/store/sqlite/driver.ts";
import type { StoreContender } from "./contender.ts";
import type { Measurement } from "./rounds.ts";
import { whole } from "./table.ts";

export interface RowCount {
  readonly contender: string;
  readonly acknowledged: number;
  readonly rows: number;
}

/**
 * Counts the rows of a store that was stopped. Throws if it has fewer than it acknowledged. It may have more: wrk
 * leaves at the end of a run without waiting for the answers on their way.
 */
export function countRows({ name, file }: StoreContender, runs: readonly Measurement[]): RowCount {
  const acknowledged = runs
    .filter(({ contender }) => contender === name)
    .reduce((count, { requests }) => count + requests, 0);
  const database = new Database(file, { readonly: true });
  const rows = Number(database.query("SELECT count(*) FROM plants").values()[0]?.[0]);
  database.close();
  if (rows < acknowledged)
    throw new Error(`${name} acknowledged ${acknowledged} creates, but has ${rows} rows`);
  return { contender: name, acknowledged, rows };
}

export function rowCountText({ contender, acknowledged, rows }: RowCount): string {
  return `${contender} acknowledged ${whole(acknowledged)} creates and has ${whole(rows)} rows`;
}
