// The interface through which a store is read: SQL, and pages of plants.

import type { Page, PageQuery } from "./shared/page.ts";
import type { SqlConnection } from "./sql-connection.ts";

/** Connections of a store, which also read pages of its plants. */
export interface ReadConnection extends SqlConnection {
  /** How many calls run at the same time; further ones wait. */
  readonly callsMax: number;

  /** Reads a page of plants as JSON. */
  page(query: PageQuery, msMax?: number): Promise<Page>;
}
