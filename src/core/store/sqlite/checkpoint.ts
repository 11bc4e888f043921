// SQLite's checkpoints: they copy the WAL into the database file.

import type { Database } from "./driver.ts";

export interface Checkpoint {
  /** False if another connection was running a checkpoint, so that nothing was done. */
  readonly isDone: boolean;
  /** The length of the WAL; -1 if it could not be read, because another connection was busy. */
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
  const [[isBusy, pages, copied] = []] = database.query(`PRAGMA wal_checkpoint(${mode})`).values();
  // FULL is busy, with counts, after it has copied less than all of the WAL.
  return { isDone: Number(isBusy) === 0 || Number(pages) >= 0, pages: Number(pages), copied: Number(copied) };
}
