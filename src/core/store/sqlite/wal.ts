// Keeps the write-ahead log (WAL) short.

import { statSync } from "node:fs";
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
 * From this length on commits wait for the checkpoint thread. The largest batch adds the text of
 * all bodies in flight (64 MiB by default) and some 10 pages for each of 1,024 plants, so the WAL
 * stays below 256 MiB.
 */
const waitPages = pagesIn(128 * mebibyte);

/** After a checkpoint that a reader held back, the WAL grows by this much before the next one. */
const retryPages = 1_000;

/** See Wal.heldBytesMax. */
const heldBytesMinDefault = 1_024 * mebibyte;

export interface WalOptions {
  /** The thread that copies the WAL, in a server; otherwise commits do. */
  readonly checkpointThread?: CheckpointSignals;
  /** See Wal.heldBytesMax. */
  readonly heldBytesMin?: number;
}

export class Wal {
  readonly #database: Database;
  readonly #onUnavailable: OnUnavailable;
  readonly #checkpointThread: CheckpointSignals | undefined;
  readonly #heldBytesMin: number;
  /** Its length before the last transaction. */
  #pages = 0;
  /** The length from which on the WAL is to be restarted. */
  #restartAt: number;
  /** Whether the last checkpoint that should have copied all of the WAL could not. */
  #isHeld = false;

  constructor(database: Database, onUnavailable: OnUnavailable, options: WalOptions = {}) {
    this.#database = database;
    this.#onUnavailable = onUnavailable;
    this.#checkpointThread = options.checkpointThread;
    this.#heldBytesMin = options.heldBytesMin ?? heldBytesMinDefault;
    this.#restartAt = this.#restartPages;
  }

  /**
   * Keeps the WAL short; call it before each transaction. Returns and reports why no plant may be
   * committed, if the WAL has reached its limit or cannot be read. Throws SQLite's own error if an
   * fsync has failed.
   *
   * A WAL is restarted by the first commit that finds all of it in the database file. While commits
   * follow without a pause the checkpoint thread never gets that far, so this copies the rest once
   * it is small.
   *
   * SQLite's automatic checkpoints do not report a failure. After one whose fsync failed, the next
   * would skip the pages that the first had copied past a reader of an old snapshot, and never
   * fsync them. Reading the length of the WAL takes 5 µs.
   */
  makeRoom(): string | undefined {
    try {
      if (this.#hasRoom()) return undefined;
      this.#onUnavailable(walFullReason);
      return walFullReason;
    } catch (error) {
      const { reason } = batchFailure(error);
      this.#onUnavailable(reason);
      return reason;
    }
  }

  #hasRoom(): boolean {
    const { pages, copied } = checkpoint(this.#database, "NOOP");
    // -1 while another connection writes the index of the WAL; the next call finds its length.
    if (pages < 0) return true;
    if (pages < this.#pages) this.#resetLimits();
    this.#pages = pages;
    if (pages < this.#restartAt) return true;
    const pagesMax = this.#isHeld ? this.#heldPagesMax : waitPages;
    if (pages < pagesMax && pages - copied > this.#tailPagesMax) return true;
    if (this.#copyTail(pages >= pagesMax)) return true;
    this.#isHeld = pages >= waitPages;
    const hasRoom = pages < this.#heldPagesMax;
    this.#restartAt = hasRoom ? pages + retryPages : this.#restartPages;
    return hasRoom;
  }

  #resetLimits(): void {
    this.#restartAt = this.#restartPages;
    this.#isHeld = false;
  }

  get #restartPages(): number {
    return this.#checkpointThread === undefined ? inlinePages : restartPages;
  }

  get #tailPagesMax(): number {
    return this.#checkpointThread === undefined ? Number.POSITIVE_INFINITY : tailPagesMax;
  }

  /**
   * The length of the WAL up to which plants are committed while a reader keeps an old snapshot: the
   * size of the database file, as an export or a backup takes the longer the larger that is, and at
   * least heldBytesMin.
   */
  get heldBytesMax(): number {
    // 0 for a file that was removed, which the next commit reports.
    return Math.max(
      this.#heldBytesMin,
      statSync(this.#database.filename, { throwIfNoEntry: false })?.size ?? 0,
    );
  }

  get #heldPagesMax(): number {
    return pagesIn(this.heldBytesMax);
  }

  /** Copies the rest of the WAL. Returns whether all of it is in the database file now. */
  #copyTail(waits: boolean): boolean {
    // FULL keeps other processes from committing; it must not wait for them.
    this.#database.run("PRAGMA busy_timeout = 0");
    try {
      const { pages, copied } = waits ? this.#checkpointWithRetry() : checkpoint(this.#database, "FULL");
      if (pages < 0 || copied < pages) return false;
      this.#resetLimits();
      return true;
    } catch (error) {
      this.#onUnavailable(batchFailure(error).reason);
      return false;
    } finally {
      this.#database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    }
  }

  /** Waited for until it is done; another process may have been stopped amid its checkpoint. */
  #checkpointWithRetry(): Checkpoint {
    const deadline = performance.now() + lockWaitMs;
    for (;;) {
      this.#checkpointThread?.waitUntilCopied();
      const result = checkpoint(this.#database, "FULL");
      if (result.pages >= 0 || performance.now() > deadline) return result;
      Bun.sleepSync(1);
    }
  }
}

const walFullReason =
  "the WAL has reached its limit, as a reader (an export, a backup or another program) keeps an old snapshot of the store; end that reader";

function pagesIn(bytes: number): number {
  return Math.floor(bytes / frameBytes);
}
