// Opens SQLite files so that a commit is on stable storage when it returns, also while other
// processes have them open.

import { accessSync, closeSync, constants, openSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { OperatorError } from "../../base/operator-error.ts";
import { NotUpToDate } from "../migration/not-up-to-date.ts";
import type { OpenMode } from "../plant-store.ts";
import { walBytesKept } from "./checkpoint.ts";
import { isFailedFsync, recoverFromFailure, writeFailureMarker } from "./disk-failure.ts";
import { Database, lockWaitMs, retryWhileLocked, SQLiteError } from "./driver.ts";
import { describeError } from "./errors.ts";
import { fileId, fsyncDirectory, fsyncFile, resolvedPath } from "./files.ts";

/** Opens a file again that this process has open as a store. */
export function openAgain(path: string): Database {
  return openFile(
    path,
    "existing",
    () => undefined,
    () => undefined,
  ).database;
}

/**
 * Opens a file. Throws an OperatorError.
 *
 * @param check throws the error of a file that is not to be changed.
 * @param recover brings back a store whose disk has failed, unless a process has it open.
 */
export function openFile(
  path: string,
  mode: OpenMode,
  check: (database: Database) => void,
  recover: (path: string) => void = recoverFromFailure,
) {
  // ":memory:" has no file; it is rejected once it is open, as it cannot have a WAL.
  if (path !== ":memory:") prepareFile(path, mode);
  const id = fileId(path);
  const database = describingErrors(path, () => {
    recover(path);
    // Ids are bigint both ways: as numbers they lose digits past 2^53, and are bound as REAL past
    // 2^51.
    return new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
  });
  try {
    describingErrors(path, () => {
      // Waiting is done by retryWhileLocked, and checkpoints must not wait.
      database.run("PRAGMA busy_timeout = 0");
      check(database);
      // The next statements create the sidecar files.
      assertNotReplaced(path, id);
      makeDurable(database, path);
    });
  } catch (error) {
    database.close();
    throw error;
  }
  return { database, id };
}

/** A restore may replace a file while it is opened; the one that was opened has no name then. */
export function assertNotReplaced(path: string, id: string | undefined): void {
  if (fileId(path) !== id)
    throw new OperatorError(`${path} was replaced while it was being opened; try again`);
}

/** Runs a step of opening a file, again while it is locked. Throws an OperatorError. */
export function describingErrors<Result>(path: string, step: () => Result): Result {
  try {
    return retryWhileLocked(step, lockWaitMs);
  } catch (error) {
    if (isFailedFsync(error)) {
      writeFailureMarker(path, error.message);
      throw new OperatorError(`cannot open the store ${path}: ${error.message}`);
    }
    if (error instanceof SQLiteError)
      throw new OperatorError(`cannot open the store ${path}: ${describeError(error, path)}`);
    throw error;
  }
}

/**
 * Creates the file before SQLite would, so that its replacement by a restore can be seen. It is
 * readable by its owner only; SQLite gives the sidecar files the same mode.
 */
function prepareFile(path: string, mode: OpenMode): void {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory()) throw new OperatorError(`${path} is a folder; name a file`);
    if (stat === undefined && mode !== "create")
      throw new NotUpToDate(
        `there is no store at ${resolve(path)}; name yours with --database, or create one there with "plantstore migrate"`,
      );
    // The flag "a" follows a link to a file that does not exist yet, and does not truncate what
    // another process creates.
    if (stat === undefined) closeSync(openSync(path, "a", 0o600));
    // SQLite would open a file without write permission for reading, and fail at the first plant.
    else if (mode !== "existing") accessSync(path, constants.W_OK);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      `cannot open the store ${resolve(path)} (${code}); check that its folder exists, and that this user may write both`,
    );
  }
}

function makeDurable(database: Database, path: string): void {
  const [[journalMode] = []] = database.query("PRAGMA journal_mode = WAL").values();
  database.run("PRAGMA synchronous = FULL");
  // checkpoint.ts and the checkpoint thread run the checkpoints: SQLite does not report one of its
  // own that fails.
  database.run("PRAGMA wal_autocheckpoint = 0");
  database.run(`PRAGMA journal_size_limit = ${walBytesKept}`);
  // Overwrites deleted plants in the file. Creates delete nothing, so it costs them nothing.
  database.run("PRAGMA secure_delete = ON");
  // SQLite keeps another mode without an error for a database in memory and on a file system
  // without shared memory.
  if (journalMode !== "wal") {
    throw new OperatorError(
      `${path} cannot be kept durable (its journal mode is ${journalMode}); name a file on a local disk`,
    );
  }
  // Opens the WAL, so that the next line finds it.
  database.query("SELECT 1 FROM sqlite_schema").get();
  // A server that was killed may have left commits in the WAL that were not fsynced. They are
  // visible, and a replay of such a plant would be acknowledged without a write.
  fsyncFile(`${resolvedPath(path)}-wal`);
  // SQLite fsyncs the folder after it has created the WAL, and ignores an error; this fsync comes
  // first and reports it.
  fsyncDirectory(path);
}
