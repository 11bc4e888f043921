// What a commit does about a long write-ahead log, with and without a checkpoint thread.

import { expect, spyOn, test } from "bun:test";
import { restartPages, shortenWal } from "../../../../src/store/sqlite/checkpoint.ts";
import { CheckpointSignals } from "../../../../src/store/sqlite/checkpoint-signals.ts";
import type { Database } from "../../../../src/store/sqlite/driver.ts";
import { BatchSender } from "../../../../src/store/sqlite/shared-batch.ts";
import { sqliteError } from "../../../support/sqlite-error.ts";

/** A database whose WAL is to be restarted, and whose checkpoints fail. */
function failing(code: string, pages = restartPages, tail = 100) {
  const query = (sql: string) => ({
    values() {
      if (sql !== "PRAGMA wal_checkpoint(NOOP)") throw sqliteError(code);
      return [[0, pages, pages - tail]];
    },
  });
  return { query } as unknown as Database;
}

test("a commit beside a checkpoint thread goes on while the database file cannot be written, unless an fsync of it fails", () => {
  const thread = new CheckpointSignals(new BatchSender().buffer);
  for (const code of ["SQLITE_IOERR_WRITE", "SQLITE_FULL"]) {
    expect(() => shortenWal(failing(code), thread)).not.toThrow();
    // Nobody else would report it.
    expect(() => shortenWal(failing(code))).toThrow("simulated");
  }
  expect(() => shortenWal(failing("SQLITE_IOERR_FSYNC"), thread)).toThrow("simulated");
});

test("commits wait for the checkpoint thread once the log is very long, unless a reader holds back the most of it", () => {
  const thread = new CheckpointSignals(new BatchSender().buffer);
  using wait = spyOn(thread, "waitUntilCopied");
  for (const [pages, tail, waits] of [
    [30_000, 20_000, 0],
    [40_000, 20_000, 1],
    [100_000, 90_000, 1],
  ] as const) {
    shortenWal(failing("SQLITE_IOERR_WRITE", pages, tail), thread);
    expect(wait).toHaveBeenCalledTimes(waits);
  }
});
