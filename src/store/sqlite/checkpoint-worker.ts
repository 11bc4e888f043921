// Copies the write-ahead log into the database file during commits, in a worker with a connection
// of its own.

import { fdatasyncSync } from "node:fs";
import { checkpoint, restartPages } from "./checkpoint.ts";
import { CheckpointSignals } from "./checkpoint-signals.ts";
import { isFailedFsync, recordDiskFailure } from "./disk-failure.ts";
import type { Database } from "./driver.ts";
import { failureReason } from "./errors.ts";
import { openAgain } from "./open-file.ts";
import { notify, serveCalls } from "./worker-rpc.ts";

/** The pause between two passes: each costs an fsync of the WAL. */
const intervalMs = 20;

/** A pass copies at least this many pages: with 500, creates took a quarter more user time. */
const pagesMin = 2_000;

/**
 * The minimum once the WAL is to be restarted: half of the tail that a commit copies, so that the
 * tail is soon short enough.
 */
const lastPagesMin = 500;

serveCalls(openCheckpoints);

/**
 * @param descriptor the database file. Not opened here: a process that closes a file loses every
 *   POSIX lock that it holds on it.
 */
export async function openCheckpoints(path: string, memory: SharedArrayBuffer, descriptor: number) {
  const database = openAgain(path);
  const signals = new CheckpointSignals(memory);
  return {
    checkpoints: {
      /**
       * Resolves when the signals end it, its connection closed; rejects with DiskFailureError if
       * an fsync has failed.
       */
      async run() {
        try {
          signals.afterCommits(intervalMs, () => copyIfLong(database, descriptor));
          // Closing may run a checkpoint, from pages that may not be on the disk.
          if (signals.hasDiskFailed) return;
          database.close();
        } catch (error) {
          if (!isFailedFsync(error)) throw error;
          signals.failDisk();
          throw recordDiskFailure(path, error);
        }
      },
    },
  };
}

function copyIfLong(database: Database, descriptor: number): void {
  try {
    const { pages, tail } = checkpoint(database, "NOOP");
    if (tail < (pages < restartPages ? pagesMin : lastPagesMin)) return;
    checkpoint(database, "PASSIVE");
    // During commits SQLite never fsyncs the database file, and the commit that copies the rest
    // would do all of it.
    fdatasyncSync(descriptor);
  } catch (error) {
    notify(`the write-ahead log grows, as it cannot be copied: ${failureReason(error)}`);
  }
}
