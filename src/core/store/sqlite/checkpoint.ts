// SQLite's checkpoints: they copy the WAL into the database file.

import type { Database } from "./driver.ts";

export interface Checkpoint {
  /**
   * The length of the WAL; -1 if nothing was done, because another connection ran a checkpoint or
   * wrote the index of the WAL.
   */
  readonly pages: number;
  /** How many of them are in the database file. */
  readonly copied: number;
}

/**
 * Runs a checkpoint, or with NOOP only measures. PASSIVE copies what no reader's snapshot holds
 * back, while others commit; FULL takes the write lock, if it gets it, so that none can. Throws
 * SQLite's own error.
 */
export function checkpoint(database: Database, mode: "NOOP" | "PASSIVE" | "FULL"): Checkpoint {
  const [[, pages, copied] = []] = database.query(`PRAGMA wal_checkpoint(${mode})`).values();
  return { pages: Number(pages), copied: Number(copied) };
}
