// A checkpoint that fails before a commit, with and without a checkpoint thread.

import { expect, test } from "bun:test";
import { restartPages, shortenWal } from "../../../../src/store/sqlite/checkpoint.ts";
import { CheckpointSignals } from "../../../../src/store/sqlite/checkpoint-signals.ts";
import type { Database } from "../../../../src/store/sqlite/driver.ts";
import { BatchSender } from "../../../../src/store/sqlite/shared-batch.ts";
import { sqliteError } from "../../../support/sqlite-error.ts";

/** A database whose WAL is to be restarted, and whose checkpoints fail. */
function failing(code: string) {
  const query = (sql: string) => ({
    values() {
      if (sql !== "PRAGMA wal_checkpoint(NOOP)") throw sqliteError(code);
      return [[0, restartPages, restartPages - 100]];
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
