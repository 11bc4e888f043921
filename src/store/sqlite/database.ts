// Opens SQLite files so that a commit that returned is on stable storage.

import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { OperatorError } from "../../operator-error.ts";
import type { OpenMode } from "../plant-store.ts";
import { isFailedFsync, recoverFromFailure, writeFailureMarker } from "./disk-failure.ts";
import { Database, SQLiteError } from "./driver.ts";
import { fileId } from "./file-identity.ts";
import { fsyncDirectory } from "./files.ts";
import { migrate, newestVersion, schemaVersion } from "./migrations.ts";
import { servedStores } from "./running-servers.ts";

/** How long a statement waits for a lock that another process holds. */
export const lockWaitMs = 2_000;

/** A log that grew beside a long export or backup is cut back to this when it starts anew. */
const logBytesKept = 64 * 2 ** 20;

/**
 * Opens a store file, and brings its schema up to date. Every commit is on stable storage when it returns:
 * write-ahead log and synchronous=FULL. Throws an OperatorError if the file cannot be a store.
 *
 * @param mode `create` makes the file if there is none; the others throw then.
 */
export function openDatabase(path: string, mode: OpenMode): Database {
  for (;;) {
    // What is in memory has no file, and is refused once it is open.
    if (!existsSync(path) && path !== ":memory:") createOrRefuse(path, mode);
    const identity = fileId(path);
    // A restore that is under way puts another file there, and the one that was opened has no name any more.
    const isReplaced = () => identity !== fileId(path);
    try {
      const database = openOnce(path, mode, isReplaced);
      if (database !== undefined && !isReplaced()) return database;
      database?.close();
    } catch (error) {
      if (!isReplaced()) throw error;
    }
  }
}

/** SQLite would make the file as well, but whether a restore has put another one there meanwhile could not be seen then. */
function createOrRefuse(path: string, mode: OpenMode): void {
  if (mode !== "create") throw noStore(path);
  if (!existsSync(dirname(path))) {
    throw new OperatorError(
      `cannot make the store ${path}: the folder ${dirname(path)} does not exist; create it first`,
    );
  }
  createPrivately(path);
}

/** Undefined if the file was replaced before anything was made beside it. */
function openOnce(path: string, mode: OpenMode, isReplaced: () => boolean): Database | undefined {
  if (mode !== "existing") assertWritableFile(path);
  let database: Database | undefined;
  try {
    recoverFromFailure(path);
    // Ids are bigint both ways: as numbers they lose digits past 2^53, and are bound as REAL past 2^51.
    database = new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
    database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    assertStore(database, path, mode);
    if (isReplaced()) {
      database.close();
      return undefined;
    }
    makeDurable(database, path);
    if (mode === "create") migrate(database, path);
    return database;
  } catch (error) {
    database?.close();
    if (isFailedFsync(error)) writeFailureMarker(path, error.message);
    if (error instanceof SQLiteError || isFailedFsync(error))
      throw new OperatorError(`cannot open the store ${path}: ${error.message}`);
    throw error;
  }
}

function noStore(path: string): OperatorError {
  const served = servedStores();
  const named = served.map((each) => `--database sqlite:${each}`);
  const elsewhere = served.length === 0 ? "" : `; running servers have ${named.join(", ")}`;
  return new OperatorError(
    `there is no store at ${resolve(path)}; name yours with --database, or make one there with "plantstore migrate"${elsewhere}`,
  );
}

/** Makes the file for its owner alone, if there is none; SQLite gives what it keeps beside it the same mode. */
function createPrivately(path: string): void {
  try {
    // Appending follows a link to a file that is not there yet, and leaves alone what another process makes meanwhile.
    closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(`cannot make the store ${path} (${code}); see to its folder`);
  }
}

/** SQLite would open it for reading, without a word, and fail with the first plant. */
function assertWritableFile(path: string): void {
  if (!existsSync(path)) return;
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      `cannot open the store ${path}: it cannot be written (${code}); see to its permissions and its file system`,
    );
  }
}

function makeDurable(database: Database, path: string): void {
  const [[journalMode] = []] = database.query("PRAGMA journal_mode = WAL").values();
  database.run("PRAGMA synchronous = FULL");
  // SqlitePlants does it: SQLite itself would say nothing of a checkpoint that fails.
  database.run("PRAGMA wal_autocheckpoint = 0");
  database.run(`PRAGMA journal_size_limit = ${logBytesKept}`);
  // SQLite stays silent where it cannot: for a database in memory, or on a file system without shared memory.
  if (journalMode !== "wal") {
    throw new OperatorError(
      `${path} cannot be kept durable (its journal mode is ${journalMode}); name a file on a local disk`,
    );
  }
  // SQLite fsyncs the folder once the log is in it, and does not look whether that went well: so ahead of it.
  database.query("SELECT 1 FROM sqlite_schema").get();
  fsyncDirectory(path);
}

/** Refuses what is no store, before anything is changed; an existing one must have this program's schema as well. */
function assertStore(database: Database, path: string, mode: OpenMode): void {
  const version = schemaVersion(database, path);
  if (mode !== "create" && version < newestVersion) {
    throw new OperatorError(
      `${path} has schema version ${version}, but this program needs ${newestVersion}; run "plantstore migrate" first`,
    );
  }
}
