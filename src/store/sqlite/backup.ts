// A copy of a store while servers write to it.

import { chmodSync, existsSync, renameSync, statSync } from "node:fs";
import { OperatorError } from "../../operator-error.ts";
import type { StoreSize } from "../plant-store.ts";
import { checkCopy } from "./check.ts";
import { lockWaitMs } from "./database.ts";
import { hasFailed } from "./disk-failure.ts";
import { Database, SQLiteError } from "./driver.ts";
import { countPlants } from "./export.ts";
import { removeStoreFiles, syncFile, syncName } from "./files.ts";
import { schemaVersion } from "./migrations.ts";

/**
 * Copies a store to a file: one snapshot, checked and on stable storage before it has the file's name. What an
 * interruption leaves behind is called FILE.partial, and the next backup removes it. Throws an OperatorError if it
 * cannot.
 */
export function backUp(path: string, file: string, mayReplace: boolean): StoreSize {
  if (existsSync(file) && !mayReplace)
    throw new OperatorError(`${file} exists already; name another file, or replace it with --force`);
  if (!existsSync(path))
    throw new OperatorError(`there is no store at ${path}; name the store with --database`);
  const partial = `${file}.partial`;
  try {
    removeStoreFiles(partial);
    const plantsBefore = copyStore(path, partial);
    // As private as the store.
    chmodSync(partial, statSync(path).mode);
    const size = checkCopy(partial, "the copy");
    if (size.plants < plantsBefore)
      throw new OperatorError(
        `the copy has ${size.plants} plants, but the store had ${plantsBefore}; try again`,
      );
    syncFile(partial);
    renameSync(partial, file);
    syncName(file);
    return size;
  } catch (error) {
    removeStoreFiles(partial);
    throw forOperator(error, file);
  }
}

/** Copies a store to a file that is not there yet, and gives the number of plants that the store had at least. */
function copyStore(path: string, copy: string): number {
  // The last to close a store copies its log into the file, which after a failure of the disk is for the recovery alone.
  const access = hasFailed(path) ? { readonly: true } : { readwrite: true, create: false };
  const database = new Database(path, { ...access, strict: true, safeIntegers: true });
  try {
    database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    if (schemaVersion(database, path) === 0) throw new OperatorError(`${path} holds no plant store`);
    const plants = countPlants(database, {});
    // One read transaction, which no writer waits for; the write-ahead log grows meanwhile.
    database.run("VACUUM INTO ?", [copy]);
    return plants;
  } finally {
    database.close();
  }
}

function forOperator(error: unknown, file: string): unknown {
  const isFromSystem = error instanceof Error && "syscall" in error;
  if (!isFromSystem && !(error instanceof SQLiteError)) return error;
  return new OperatorError(
    `the store could not be backed up to ${file}: ${error.message}; see to it, and try again`,
  );
}
