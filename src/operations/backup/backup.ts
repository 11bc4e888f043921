// Backup and restore: copies a store to a file while servers write to it, and replaces a store with
// such a file.

import { constants, copyFileSync, existsSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { OperatorError } from "../../core/operator-error.ts";
import { storeAt } from "../../core/store/open-store.ts";
import { Database, lockWaitMs, SQLiteError } from "../../core/store/sqlite/driver.ts";
import { hasFailureMarker } from "../../core/store/sqlite/errors.ts";
import {
  failureMarkerSuffix,
  fsyncFile,
  isEmpty,
  isInWalMode,
  readHeader,
  resolvedPath,
  sidecarFilesAt,
} from "../../core/store/sqlite/files.ts";
import { isPlantStore, schemaVersion } from "../../core/store/sqlite/migrations.ts";
import { countPlants } from "../../core/store/sqlite/plants.ts";
import { whileLocked } from "./file-lock.ts";
import {
  assertRegularFile,
  isSameFile,
  replaceFile,
  resolveTarget,
  setPermissions,
  storeFilesAt,
} from "./file-replacement.ts";
import { PrivateFolder } from "./private-folder.ts";

/**
 * Copies a store to a file: one snapshot, verified and on stable storage before it gets the file's
 * name. Leaves no file next to it that SQLite would replay into it. Returns the number of plants.
 * Throws an OperatorError if that is not possible.
 */
export function backUp(database: string, file: string, overwrite: boolean): number {
  const path = fileOf(
    database,
    'backup is for SQLite; for PostgreSQL use "pg_dump --format=custom --file=FILE DATABASE", or pg_basebackup for the whole cluster',
  );
  try {
    if (!existsSync(path))
      throw new OperatorError(`there is no store at ${path}; name the store with --database`);
    assertRegularFile(path);
    const target = resolveTarget(file);
    const assertReplaceable = () => {
      if (isSameFile(target, path))
        throw new OperatorError(`${file} is the store itself; name another file for the backup`);
      assertNotStore(target, file, overwrite);
    };
    // Checked before the copy, which may take long, and again after it.
    assertReplaceable();
    if (!isEmpty(target)) assertClosedBackup(target, file);
    using folder = PrivateFolder.create(dirname(target));
    copyStore(path, folder.copy);
    const plants = verifyCopy(folder.copy, "the copy");
    setPermissions(folder.copy, path, target);
    fsyncFile(folder.copy);
    replaceFile(folder.copy, target, (database) => {
      assertReplaceable();
      if (!isEmpty(target)) assertBackup(database, file);
    });
    return plants;
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw new OperatorError(
      `the store could not be backed up to ${file}: ${error.message}; fix the cause, and try again`,
    );
  }
}

/** The file of a store. Throws an OperatorError with this message if the store is PostgreSQL's. */
function fileOf(database: string, message: string): string {
  const { file } = storeAt(database);
  if (file === undefined) throw new OperatorError(message, 2);
  return file;
}

function assertNotStore(target: string, file: string, overwrite: boolean): void {
  const [sidecar] = storeFilesAt(target);
  if (sidecar !== undefined)
    throw new OperatorError(`${sidecar} exists, so ${file} is a store and not a backup; name another file`);
  if (!isEmpty(target) && !overwrite)
    throw new OperatorError(`${file} exists already; name another file, or replace it with --force`);
}

function assertClosedBackup(target: string, file: string): void {
  try {
    whileLocked(target, (database) => assertBackup(database, file));
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    throw new OperatorError(
      `${file} is not a backup that can be replaced (${error.message}); move it away, or name another file`,
    );
  }
}

/**
 * Throws unless a database is a backup. A backup is not in WAL mode; a store is from its first
 * opening on, also while it is closed.
 */
function assertBackup(database: Database, file: string): void {
  if (!isPlantStore(database))
    throw new OperatorError(`${file} is a SQLite database, but not a plant store; name another file`);
  const [[journalMode] = []] = database.query("PRAGMA journal_mode").values();
  if (journalMode === "wal")
    throw new OperatorError(
      `${file} has been opened as a store since it was made, so it is a store and not a backup; move it away, or name another file`,
    );
}

/** Copies a store to a new file. No writer waits for it, but the WAL grows meanwhile. */
function copyStore(path: string, copy: string): void {
  // The last connection to close a store runs a checkpoint, which after a disk failure only the
  // recovery may do.
  const access = hasFailureMarker(path) ? { readonly: true } : { readwrite: true, create: false };
  using database = new Database(path, { ...access, strict: true, safeIntegers: true });
  database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
  if (schemaVersion(database, path) === 0) throw new OperatorError(`${path} is not a plant store`);
  database.run("VACUUM INTO ?", [copy]);
}

/**
 * Replaces a store with a backup, which is verified first. Returns the number of plants. Throws an
 * OperatorError if there is a store that may not be overwritten, or that a process has open.
 */
export function restore(database: string, backup: string, overwrite: boolean): number {
  const path = fileOf(
    database,
    'restore is for SQLite; for PostgreSQL use "pg_restore --clean --if-exists --dbname=DATABASE FILE" with a file that pg_dump has written',
  );
  try {
    if (!existsSync(backup)) throw new OperatorError(`there is no backup ${backup}`);
    assertRegularFile(backup);
    const target = resolveTarget(path);
    if (isSameFile(backup, target))
      throw new OperatorError(`${backup} is the store itself; name a backup of it`);
    assertNoStoreFiles(backup);
    assertClosed(backup);
    assertFree(target, path, overwrite);
    using folder = PrivateFolder.create(dirname(target));
    copyBackup(backup, folder.copy);
    const plants = verifyCopy(folder.copy, backup);
    setPermissions(folder.copy, backup, target);
    fsyncFile(folder.copy);
    replaceStore(target, path, folder.copy, overwrite);
    return plants;
  } catch (error) {
    throw isFileError(error) ? new OperatorError(`${backup} could not be restored: ${error.message}`) : error;
  }
}

function assertNoStoreFiles(backup: string): void {
  const [sidecar] = storeFilesAt(resolvedPath(backup));
  if (sidecar !== undefined)
    throw new OperatorError(
      `${backup} is a store and not a backup, as ${sidecar} belongs to it; make one with "plantstore backup"`,
    );
}

/** Rejects a file that may be open under another name, with its WAL next to that. */
function assertClosed(backup: string): void {
  if (!isInWalMode(readHeader(backup))) return;
  try {
    whileLocked(backup, () => undefined);
  } catch (error) {
    // A file on a read-only disk cannot be locked, and a damaged one cannot be read: copyBackup and
    // verifyCopy follow.
    if (!(error instanceof SQLiteError)) throw error;
  }
}

/** Throws if the backup has been written to since, such as by an unfinished transfer. */
function copyBackup(backup: string, copy: string): void {
  const before = fileVersion(backup);
  copyFileSync(backup, copy, constants.COPYFILE_FICLONE);
  assertNoStoreFiles(backup);
  if (fileVersion(backup) !== before)
    throw new OperatorError(`${backup} was changed while it was copied; try again once it is written`);
}

/** A text that changes whenever a file is written or replaced. */
function fileVersion(path: string): string {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

function assertFree(target: string, path: string, overwrite: boolean): void {
  if (overwrite) return;
  const [existing] = isEmpty(target) ? sidecarFilesAt(target) : [path];
  if (existing !== undefined)
    throw new OperatorError(`${existing} exists; move it away, or replace the whole store with --force`);
}

function replaceStore(target: string, path: string, copy: string, overwrite: boolean): void {
  try {
    replaceFile(copy, target, (database) => {
      assertFree(target, path, overwrite);
      removeSidecarFiles(database, target, path);
    });
    // Last, as it belongs to the store that was replaced.
    rmSync(target + failureMarkerSuffix, { force: true });
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    throw new OperatorError(
      `${path} cannot be replaced (${error.message}); move it away, with -wal and -shm if they are there`,
    );
  }
}

/**
 * Copies the WAL into the database file first, so that an interrupted restore loses none of the old
 * store.
 */
function removeSidecarFiles(database: Database, target: string, path: string): void {
  if (!isPlantStore(database))
    throw new OperatorError(
      `${path} is a SQLite database, but not a plant store; name another file with --database`,
    );
  if (!isEmpty(target)) {
    database.run("PRAGMA journal_mode = DELETE");
    // The lock may have ended with the WAL that it was on.
    database.run("BEGIN EXCLUSIVE");
  }
  for (const file of sidecarFilesAt(target)) rmSync(file);
}

/**
 * Reads all of a copy that no other process has open, and leaves it as one file without a WAL.
 * Throws an OperatorError unless it is an undamaged store of this program's schema version or an
 * earlier one. Returns the number of its plants.
 *
 * @param name how messages call the copy.
 */
function verifyCopy(path: string, name: string): number {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
    if (schemaVersion(database, name) === 0) throw new OperatorError(`${name} is not a plant store`);
    database.run("PRAGMA journal_mode = DELETE");
    const [[result] = []] = database.query("PRAGMA integrity_check(1)").values();
    if (result !== "ok")
      throw new OperatorError(`${name} is damaged: ${String(result).replace(/\s+/g, " ")}`);
    return countPlants(database, {});
  } catch (error) {
    if (error instanceof SQLiteError)
      throw new OperatorError(`${name} is damaged, or not a store: ${error.message}`);
    throw error;
  } finally {
    database?.close();
  }
}

/** Whether the system, or SQLite, could not read or write a file. */
function isFileError(error: unknown): error is Error {
  return error instanceof SQLiteError || (error instanceof Error && "syscall" in error);
}
