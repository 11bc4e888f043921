// Opens SQLite files so that a commit that returned is on stable storage.

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { OperatorError } from "../../operator-error.ts";
import type { OpenMode } from "../plant-store.ts";
import { Database, SQLiteError } from "./driver.ts";
import { identityOf } from "./files.ts";
import { migrate, newestVersion, schemaVersion } from "./migrations.ts";

/** How long a statement waits for a lock that another process holds. */
export const lockWaitMs = 2_000;

/** The write-ahead log is copied into the database file whenever it has grown by this much, in 4 KiB pages. */
const checkpointPages = 4_000;

/** A log that grew beside a long export or backup is cut back to this when it starts anew. */
const logBytesKept = 64 * 2 ** 20;

/**
 * Opens a store file, and brings its schema up to date. Every commit is on stable storage when it returns:
 * write-ahead log and synchronous=FULL. Throws an OperatorError if the file cannot be a store.
 *
 * @param mode `create` makes the file if there is none; `existing` throws then.
 */
export function openDatabase(path: string, mode: OpenMode): Database {
  for (;;) {
    const identity = identityOf(path);
    // A restore that is under way puts another file there, and the one that was opened has no name any more.
    const isReplaced = () => identity !== undefined && identity !== identityOf(path);
    try {
      const database = openOnce(path, mode);
      if (!isReplaced()) return database;
      database.close();
    } catch (error) {
      if (!isReplaced()) throw error;
    }
  }
}

function openOnce(path: string, mode: OpenMode): Database {
  if (!existsSync(path)) {
    if (mode === "existing") {
      throw new OperatorError(
        `there is no store at ${path}; start the server first, or name the store with --database`,
      );
    }
    if (!existsSync(dirname(path))) {
      throw new OperatorError(
        `cannot make the store ${path}: the folder ${dirname(path)} does not exist; create it first`,
      );
    }
  }
  let database: Database | undefined;
  try {
    // Ids are bigint both ways: as numbers they lose digits past 2^53, and are bound as REAL past 2^51.
    database = new Database(path, {
      readwrite: true,
      create: mode === "create",
      strict: true,
      safeIntegers: true,
    });
    database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    assertStore(database, path, mode);
    makeDurable(database, path);
    if (mode === "create") migrate(database, path);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof SQLiteError)
      throw new OperatorError(`cannot open the store ${path}: ${error.message}`);
    throw error;
  }
}

function makeDurable(database: Database, path: string): void {
  const [[journalMode] = []] = database.query("PRAGMA journal_mode = WAL").values();
  database.run("PRAGMA synchronous = FULL");
  database.run(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  database.run(`PRAGMA journal_size_limit = ${logBytesKept}`);
  // SQLite stays silent where it cannot: for a database in memory, or on a file system without shared memory.
  if (journalMode !== "wal") {
    throw new OperatorError(
      `${path} cannot be kept durable (its journal mode is ${journalMode}); name a file on a local disk`,
    );
  }
}

/** Refuses what is no store, before anything is changed; an existing one must have this program's schema as well. */
function assertStore(database: Database, path: string, mode: OpenMode): void {
  const version = schemaVersion(database, path);
  if (mode === "existing" && version < newestVersion) {
    throw new OperatorError(
      `${path} has schema version ${version}, but this program needs ${newestVersion}; run "plantstore migrate" first`,
    );
  }
}
