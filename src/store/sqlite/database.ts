// Opens SQLite files so that a commit that returned is on stable storage.

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { OperatorError } from "../../operator-error.ts";
import type { OpenMode } from "../plant-store.ts";
import { Database, SQLiteError } from "./driver.ts";
import { migrate, schemaVersion } from "./migrations.ts";

/** How long a statement waits for a lock that another process holds. */
export const lockWaitMs = 2_000;

/** The write-ahead log is copied into the database file whenever it has grown by this much, in 4 KiB pages. */
const checkpointPages = 4_000;

/**
 * Opens a store file, and brings its schema up to date. Every commit is on stable storage when it returns:
 * write-ahead log and synchronous=FULL. Throws an OperatorError if the file cannot be a store.
 *
 * @param mode `create` makes the file if there is none; `existing` throws then.
 */
export function openDatabase(path: string, mode: OpenMode): Database {
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
    schemaVersion(database, path);
    makeDurable(database);
    migrate(database, path);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof SQLiteError)
      throw new OperatorError(`cannot open the store ${path}: ${error.message}`);
    throw error;
  }
}

function makeDurable(database: Database): void {
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = FULL");
  database.run(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  // A server that was killed may have left commits in the log that were written but not yet fsynced. They are
  // visible from here on, and a replay of one would be answered without a write: a checkpoint fsyncs the log first.
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
}
