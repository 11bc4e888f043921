// Keeps the write-ahead log (WAL) short.

import type { OnUnavailable } from "../plant-store.ts";
import { type Checkpoint, checkpoint } from "./checkpoint.ts";
import type { CheckpointSignals } from "./checkpoint-signals.ts";
import { walBytesKept } from "./connection.ts";
import { type Database, lockWaitMs } from "./driver.ts";
import { batchFailure } from "./errors.ts";

const mebibyte = 2 ** 20;

/** A page of 4 KiB, with the header that it has in the WAL. */
const frameBytes = 4_096 + 24;

/** Without a checkpoint thread commits copy the WAL themselves, when it has grown by this. */
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
 * After this length commits wait for the checkpoint thread. The largest batch adds the text of all
 * bodies in flight (64 MiB by default) and some 10 pages for each of 1,024 plants, so the WAL stays
 * below 256 MiB, unless a reader keeps an old snapshot.
 */
const waitPages = pagesIn(128 * mebibyte);

/** After a checkpoint that did not copy all of it, the WAL grows by this much before the next one. */
const retryPages = 1_000;

export class Wal {
  readonly #database: Database;
  readonly #onUnavailable: OnUnavailable;
  readonly #checkpointThread: CheckpointSignals | undefined;
  /** Its length before the last transaction. */
  #pages = 0;
  /** The length from which on the WAL is to be restarted. */
  #restartAt = 0;
  /** The length from which on that waits for the checkpoint thread. */
  #waitAt = 0;

  /** @param checkpointThread copies the WAL, in a server; otherwise commits do. */
  constructor(database: Database, onUnavailable: OnUnavailable, checkpointThread?: CheckpointSignals) {
    this.#database = database;
    this.#onUnavailable = onUnavailable;
    this.#checkpointThread = checkpointThread;
    this.#resetLimits();
  }

  /**
   * Keeps the WAL short; call it before each transaction. Throws SQLite's own error.
   *
   * A WAL is restarted by the first commit that finds all of it in the database file. While commits
   * follow without a pause the checkpoint thread never gets that far, so this copies the rest once
   * it is small.
   *
   * SQLite's automatic checkpoints do not report a failure. After one whose fsync failed, the next
   * would skip the pages that the first had copied past a reader of an old snapshot, and never
   * fsync them. Reading the length of the WAL takes 5 µs.
   */
  shorten(): void {
    const { pages, copied } = checkpoint(this.#database, "NOOP");
    // -1 while another connection writes the index of the WAL; the next call finds its length.
    if (pages < 0) return;
    if (pages < this.#pages) this.#resetLimits();
    this.#pages = pages;
    if (pages < this.#restartAt) return;
    const waits = pages >= this.#waitAt;
    const isTailShort = this.#checkpointThread === undefined || pages - copied <= tailPagesMax;
    if (isTailShort || waits) this.#copyTail(waits);
  }

  /** Copies the rest of the WAL, so that the next commit restarts it. */
  #copyTail(waits: boolean): void {
    this.#restartAt = this.#pages + retryPages;
    // FULL keeps other processes from committing; it must not wait for them.
    this.#database.run("PRAGMA busy_timeout = 0");
    try {
      const { pages, copied } = this.#checkpoint(waits);
      if (pages < 0) return;
      if (copied === pages) this.#resetLimits();
      // A reader keeps an old snapshot. When it ends, the thread has time to copy what has grown.
      else this.#waitAt = pages + waitPages;
    } catch (error) {
      this.#onUnavailable(batchFailure(error).reason);
    } finally {
      this.#database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    }
  }

  /** Waits, if it may, for other checkpoints: that of the thread, and those of other processes. */
  #checkpoint(waits: boolean): Checkpoint {
    const deadline = performance.now() + (waits ? lockWaitMs : 0);
    for (;;) {
      if (waits) this.#checkpointThread?.waitUntilCopied();
      const result = checkpoint(this.#database, "FULL");
      if (result.pages >= 0 || performance.now() > deadline) return result;
      Bun.sleepSync(1);
    }
  }

  #resetLimits(): void {
    this.#restartAt = this.#checkpointThread === undefined ? inlinePages : restartPages;
    this.#waitAt = waitPages;
  }
}

function pagesIn(bytes: number): number {
  return Math.floor(bytes / frameBytes);
}
