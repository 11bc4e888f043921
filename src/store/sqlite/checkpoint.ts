// Keeps SQLite's write-ahead log (WAL) short by checkpoints, which copy it into the database file.

import type { CheckpointSignals } from "./checkpoint-signals.ts";
import type { Database } from "./driver.ts";
import { failureReason } from "./errors.ts";

const mebibyte = 2 ** 20;

/** A WAL that grew during a long export is truncated to this size when it is restarted. */
export const walBytesKept = 64 * mebibyte;

/** A page of 4 KiB, with the header that it has in the WAL. */
const frameBytes = 4_096 + 24;

/** Without a checkpoint thread, transactions copy the WAL themselves from this length on. */
const inlinePages = 4_000;

/**
 * With a checkpoint thread the WAL is restarted from this length on, short of the size at which its
 * file is truncated: a restart makes creates wait, and the longer the WAL is, the fewer pages are
 * copied twice. At 16 MiB a restart each half second was the p99 of creates (10 ms, now 7.4).
 */
export const restartPages = pagesIn(walBytesKept - 16 * mebibyte);

/** Pages that are copied in a pause of the commits: a few milliseconds. */
const tailPagesMax = 1_000;

/**
 * From this length on commits wait for the checkpoint thread. The largest batch adds the text of
 * all bodies in flight (64 MiB by default) and some 10 pages for each of 1,024 plants, so the WAL
 * stays below 256 MiB, unless a reader keeps an old snapshot.
 */
const waitPages = pagesIn(128 * mebibyte);

interface Checkpoint {
  /**
   * The length of the WAL; -1 if nothing was done, because another connection ran a checkpoint or
   * wrote the index of the WAL.
   */
  readonly pages: number;
  /** How many of them are not in the database file. */
  readonly tail: number;
}

/**
 * Runs a checkpoint, or with NOOP only measures. PASSIVE copies what no reader's snapshot holds
 * back, while others commit; FULL takes the write lock, if it gets it, so that none can. None of
 * them waits, as busy_timeout is 0. Throws SQLite's own error.
 */
export function checkpoint(database: Database, mode: "NOOP" | "PASSIVE" | "FULL"): Checkpoint {
  const [[, pages, copied] = []] = database.query(`PRAGMA wal_checkpoint(${mode})`).values();
  return { pages: Number(pages), tail: Number(pages) - Number(copied) };
}

/**
 * Keeps the WAL short; call it before each transaction. Throws SQLite's own error: with a thread
 * only that of an fsync, as its commits can go on while the database file cannot be written.
 *
 * A WAL is restarted by the first commit that finds all of it in the database file. While commits
 * follow without a pause the checkpoint thread never gets that far, so this copies the rest once
 * it is small.
 *
 * SQLite's automatic checkpoints do not report a failure. After one whose fsync failed, the next
 * would skip the pages that the first had copied past a reader of an old snapshot, and never
 * fsync them. Reading the length of the WAL takes 5 µs.
 *
 * @param thread copies the WAL, in a server; otherwise this does.
 */
export function shortenWal(database: Database, thread?: CheckpointSignals): void {
  let { pages, tail } = checkpoint(database, "NOOP");
  if (pages < (thread === undefined ? inlinePages : restartPages)) return;
  if (thread !== undefined) {
    // A longer tail is what a reader's snapshot held back: commits do not wait for all of it.
    if (pages >= waitPages && tail < 2 * waitPages) {
      thread.waitUntilCopied();
      ({ tail } = checkpoint(database, "NOOP"));
    }
    if (tail > tailPagesMax) return;
  }
  try {
    checkpoint(database, "FULL");
  } catch (error) {
    // The commit writes another file. The thread, which writes this one too, reports its failure.
    if (thread === undefined) throw error;
    failureReason(error);
  }
}

function pagesIn(bytes: number): number {
  return Math.floor(bytes / frameBytes);
}
