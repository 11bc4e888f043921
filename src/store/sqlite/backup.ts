// A copy of a store while servers write to it.

import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { OperatorError } from "../../operator-error.ts";
import type { StoreSize } from "../plant-store.ts";
import { lockWaitMs } from "./database.ts";
import { hasFailed } from "./disk-failure.ts";
import { Database, openAddress, openReadOnly, SQLiteError } from "./driver.ts";
import { countPlants } from "./export.ts";
import { isEmpty, whileLocked } from "./file-lock.ts";
import { fsyncFile, resolvedPath, sidecarFiles, versionOf } from "./files.ts";
import { isPlantStore, schemaVersion } from "./migrations.ts";
import { PrivateFolder } from "./private-folder.ts";
import {
  assertRegularFile,
  isSameFile,
  putInPlace,
  resolveTarget,
  setPermissions,
  storeFilesAt,
} from "./target-file.ts";
import { verifyCopy } from "./verify-copy.ts";

/**
 * Copies a store to a file: one snapshot, checked and on stable storage before it has the file's name, and with nothing
 * beside that name that SQLite would play into it. Until then it is in a PrivateFolder. Throws an OperatorError if it
 * cannot.
 */
export function backUp(path: string, file: string, mayReplace: boolean): StoreSize {
  try {
    if (!existsSync(path))
      throw new OperatorError(`there is no store at ${path}; name the store with --database`);
    assertRegularFile(path);
    const target = resolveTarget(file);
    const assertReplaceable = () => {
      if (isSameFile(target, path))
        throw new OperatorError(`${file} is the store itself; name another file for the backup`);
      assertNoStore(target, file, mayReplace);
    };
    // Ahead of the copy, which may take long, and once more when it is there.
    assertReplaceable();
    if (!isEmpty(target)) assertClosedBackup(target, file);
    using folder = PrivateFolder.create(dirname(target));
    const plantsBefore = copyStore(path, folder.copy);
    const size = verifyCopy(folder.copy, "the copy");
    if (size.plants < plantsBefore)
      throw new OperatorError(
        `the copy has ${size.plants} plants, but the store had ${plantsBefore}; try again`,
      );
    setPermissions(folder.copy, path, target);
    fsyncFile(folder.copy);
    putInPlace(folder.copy, target, (database) => {
      assertReplaceable();
      if (!isEmpty(target)) assertBackup(database, file);
    });
    return size;
  } catch (error) {
    throw isOperatorError(error, file);
  }
}

/** Throws if a file may not be replaced, or not be written, by what can be seen beside it. */
function assertNoStore(target: string, file: string, mayReplace: boolean): void {
  const [beside] = storeFilesAt(target);
  if (beside !== undefined)
    throw new OperatorError(
      `${beside} is there, so ${file} is the name of a store and not of a backup; name another file`,
    );
  if (!isEmpty(target) && !mayReplace)
    throw new OperatorError(`${file} exists already; name another file, or replace it with --force`);
}

/** Throws if a file is no backup, or somebody has it open. */
function assertClosedBackup(target: string, file: string): void {
  try {
    whileLocked(target, (database) => assertBackup(database, file));
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    throw new OperatorError(
      `${file} is no backup that can be replaced (${error.message}); move it away, or name another file`,
    );
  }
}

/** A backup has no write-ahead log. A store has one as soon as it was opened, and even while it is closed its file says so. */
function assertBackup(database: Database, file: string): void {
  if (!isPlantStore(database))
    throw new OperatorError(`${file} is an SQLite database, but no plant store; name another file`);
  const [[journalMode] = []] = database.query("PRAGMA journal_mode").values();
  if (journalMode === "wal")
    throw new OperatorError(
      `${file} was opened as a store since it was made, so it is a store and not a backup; move it away, or name another file`,
    );
}

/** Copies a store to an empty file, and gives the number of plants that the store had at least. */
function copyStore(path: string, copy: string): number {
  const isSealed = isReadOnlyAndClosed(path);
  const before = versionOf(path);
  const database = openSource(path, isSealed);
  let plants: number;
  try {
    database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    if (schemaVersion(database, path) === 0) throw new OperatorError(`${path} holds no plant store`);
    plants = countPlants(database, {});
    // One read transaction, which no writer waits for; the write-ahead log grows meanwhile.
    database.run("VACUUM INTO ?", [copy]);
  } finally {
    database.close();
  }
  if (isSealed && (sidecarFiles(path).length > 0 || versionOf(path) !== before))
    throw new OperatorError(`${path} was opened while it was copied; try again`);
  return plants;
}

function openSource(path: string, isSealed: boolean): Database {
  if (isSealed)
    return new Database(`${pathToFileURL(resolvedPath(path)).href}?immutable=1`, openReadOnly | openAddress);
  // The last to close a store copies its log into the file, which after a failure of the disk is for the recovery alone.
  const access = hasFailed(path) ? { readonly: true } : { readwrite: true, create: false };
  return new Database(path, { ...access, strict: true, safeIntegers: true });
}

/** Whether a store is closed, in a folder in which this process cannot open it as SQLite does, with a log beside it. */
function isReadOnlyAndClosed(path: string): boolean {
  if (sidecarFiles(path).length > 0) return false;
  try {
    accessSync(dirname(resolvedPath(path)), constants.W_OK);
    return false;
  } catch {
    return true;
  }
}

function isOperatorError(error: unknown, file: string): unknown {
  const isFromSystem = error instanceof Error && "syscall" in error;
  if (!isFromSystem && !(error instanceof SQLiteError)) return error;
  return new OperatorError(
    `the store could not be backed up to ${file}: ${error.message}; see to it, and try again`,
  );
}
