// Backup and restore: copies a store to a file while servers write to it, and replaces a store with
// such a file.

import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  readlinkSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { OperatorError } from "../base/operator-error.ts";
import type { ContractSource } from "../contract/contract.ts";
import { plantStoreSource } from "../openapi/default-contract.ts";
import { storeAt } from "../store/open-store.ts";
import { hasFailureMarker } from "../store/sqlite/disk-failure.ts";
import { Database, isLocked, lockWaitMs, SQLiteError } from "../store/sqlite/driver.ts";
import { describeError } from "../store/sqlite/errors.ts";
import {
  failureMarkerSuffix,
  fileId,
  fsyncDirectory,
  fsyncFile,
  isEmpty,
  reservedSuffix,
  resolvedPath,
  sidecarFilesAt,
} from "../store/sqlite/files.ts";
import { findStore, isPlantStore, schemaVersion } from "../store/sqlite/migrations.ts";
import { assertOwnWal } from "../store/sqlite/wal-owner.ts";
import { PartialFile } from "./partial-file.ts";

/** The contents of a verified copy. */
interface CopiedStore {
  /** Their number by the path of their collection. */
  readonly plants: ReadonlyMap<string, number>;
  readonly contract: ContractSource;
}

/**
 * Copies a store to a new file: one snapshot, verified and on stable storage before it gets the
 * file's name. Throws an OperatorError if that is not possible.
 */
export function backUp(database: string, file: string): CopiedStore {
  const path = fileOf(
    database,
    'backup is for SQLite; for PostgreSQL use "pg_dump --format=custom --file=FILE DATABASE", or pg_basebackup for the whole cluster',
  );
  return describingErrors(`the store could not be backed up to ${file}`, [file, path], () => {
    if (statSync(path, { throwIfNoEntry: false }) === undefined)
      throw new OperatorError(`there is no store at ${path}; name the store with --database`);
    assertRegularFile(path);
    assertOwnWal(path);
    assertWritableName(file);
    assertNew(file);
    using copy = new PartialFile(file);
    copyStore(path, copy.path);
    const copied = verifyCopy(copy.path, "the copy");
    finish(copy, statSync(path).mode & ~process.umask());
    // Again, as the copy may have taken long.
    assertNew(file);
    copy.rename();
    fsyncDirectory(file);
    return copied;
  });
}

/**
 * Replaces a store with a backup, which is verified first. Throws an
 * OperatorError if there is a store that may not be overwritten, or that a process has open.
 */
export function restore(database: string, backup: string, overwrite: boolean): CopiedStore {
  const path = fileOf(
    database,
    'restore is for SQLite; for PostgreSQL use "pg_restore --clean --if-exists --dbname=DATABASE FILE" with a file that pg_dump has written',
  );
  return describingErrors(`${backup} could not be restored`, [path], () => {
    if (statSync(backup, { throwIfNoEntry: false }) === undefined)
      throw new OperatorError(`there is no backup ${backup}`);
    assertRegularFile(backup);
    assertWritableName(path);
    if (existsSync(path)) assertRegularFile(path);
    const target = resolvedPath(path);
    if (fileId(backup) === fileId(target))
      throw new OperatorError(`${backup} is the store itself; name a backup of it`);
    const [sidecar] = storeFilesAt(resolvedPath(backup));
    if (sidecar !== undefined)
      throw new OperatorError(
        `${backup} is a store and not a backup, as ${sidecar} belongs to it; make one with "plantstore backup"`,
      );
    assertFree(target, path, overwrite);
    using copy = new PartialFile(target);
    copyFileSync(backup, copy.path, constants.COPYFILE_FICLONE);
    const copied = verifyCopy(copy.path, backup);
    const replaced = statSync(target, { throwIfNoEntry: false });
    // Root may restore the store of a server that runs as another user.
    if (replaced !== undefined && process.getuid?.() === 0) chownSync(copy.path, replaced.uid, replaced.gid);
    finish(copy, replaced?.mode ?? statSync(backup).mode & ~process.umask());
    // Again, as the copy may have taken long.
    assertFree(target, path, overwrite);
    using _ = isEmpty(target) ? undefined : lockStore(target, path);
    for (const file of sidecarFilesAt(target)) rmSync(file);
    copy.rename();
    fsyncDirectory(target);
    // Last, as it belongs to the store that was replaced.
    rmSync(target + failureMarkerSuffix, { force: true });
    return copied;
  });
}

/** The file of a store. Throws an OperatorError with this message if the store is PostgreSQL's. */
function fileOf(database: string, message: string): string {
  const { file } = storeAt(database);
  if (file === undefined) throw new OperatorError(message, 2);
  return file;
}

/**
 * Errors of SQLite, which are about one of the paths, and of the system become an OperatorError.
 */
function describingErrors<T>(what: string, paths: readonly string[], action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof SQLiteError) {
      const reasons = paths.map((path) => describeError(error, path));
      throw new OperatorError(
        `${what}: ${reasons.find((reason) => reason !== error.message) ?? error.message}`,
      );
    }
    throw error instanceof Error && "syscall" in error
      ? new OperatorError(`${what}: ${error.message}`)
      : error;
  }
}

/** Reading another kind of file might never end, or replacing it break something else. */
function assertRegularFile(path: string): void {
  const stat = statSync(path);
  if (stat.isDirectory()) throw new OperatorError(`${path} is a folder; name a file`);
  if (!stat.isFile()) throw new OperatorError(`${path} is not a regular file; name another one`);
}

/** Throws an OperatorError if no database can be written under a name. */
function assertWritableName(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && !existsSync(path))
    throw new OperatorError(
      `${path} is a link to ${readlinkSync(path)}, which does not exist; name the file itself`,
    );
  if (!existsSync(dirname(path)))
    throw new OperatorError(
      `cannot write ${path}: the folder ${dirname(path)} does not exist; create it first`,
    );
  const suffix = reservedSuffix(resolvedPath(path));
  if (suffix !== undefined)
    throw new OperatorError(
      `cannot write ${path}: a name that ends with ${suffix} is reserved for a file next to a store; name another file`,
    );
}

/** The files next to a database that make it a store. The path has no links. */
function storeFilesAt(resolved: string): string[] {
  const marker = resolved + failureMarkerSuffix;
  return [...sidecarFilesAt(resolved), ...(existsSync(marker) ? [marker] : [])];
}

/** Throws an OperatorError if there is a file of a name, or one that would become part of it. */
function assertNew(file: string): void {
  const [existing] = existsSync(file) ? [file] : storeFilesAt(file);
  if (existing !== undefined)
    throw new OperatorError(`${existing} exists already; name another file for the backup`);
}

function assertFree(target: string, path: string, overwrite: boolean): void {
  // Checked even with --force: the plants in a foreign WAL are in no other file.
  assertOwnWal(target);
  if (overwrite) return;
  const [existing] = isEmpty(target) ? sidecarFilesAt(target) : [path];
  if (existing !== undefined)
    throw new OperatorError(`${existing} exists; move it away, or replace the whole store with --force`);
}

/** Gives a copy its mode, and puts it on stable storage. */
function finish(copy: PartialFile, mode: number): void {
  chmodSync(copy.path, mode & 0o666);
  fsyncFile(copy.path);
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
 * Locks a store until the connection is closed, and makes it one file: the WAL is copied into the
 * file first, so that an interrupted restore loses none of the old store.
 */
function lockStore(target: string, path: string): Database {
  const database = new Database(target, { readwrite: true, create: false, strict: true, safeIntegers: true });
  try {
    // From here on SQLite releases no lock before the connection is closed.
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    database.run("BEGIN EXCLUSIVE");
    database.run("ROLLBACK");
    if (!isPlantStore(database))
      throw new OperatorError(
        `${path} is a SQLite database, but not a plant store; name another file with --database`,
      );
    database.run("PRAGMA journal_mode = DELETE");
    // The lock may have ended with the WAL that it was on.
    database.run("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    if (isLocked(error)) throw new OperatorError(`${path} is open, perhaps in a server; stop it first`);
    if (!(error instanceof SQLiteError)) throw error;
    throw new OperatorError(
      `${path} cannot be replaced (${error.message}); move it away, with -wal and -shm if they are there`,
    );
  }
}

/**
 * Reads all of a copy that no other process has open, and leaves it as one file without a WAL.
 * Throws an OperatorError unless it is an undamaged store of this program's schema version or an
 * earlier one.
 *
 * @param name how messages call the copy.
 */
function verifyCopy(path: string, name: string): CopiedStore {
  try {
    using database = new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
    if (schemaVersion(database, name) === 0) throw new OperatorError(`${name} is not a plant store`);
    database.run("PRAGMA journal_mode = DELETE");
    const [[result] = []] = database.query("PRAGMA integrity_check(1)").values();
    if (result !== "ok")
      throw new OperatorError(`${name} is damaged: ${String(result).replace(/\s+/g, " ")}`);
    const { source = plantStoreSource, tables } = findStore(database, name);
    const countOf = (table: string) =>
      Number(database.query(`SELECT count(*) FROM "${table}"`).values()[0]?.[0]);
    const plants = new Map([...tables].map(([table, { path }]) => [path, countOf(table)]));
    return { plants, contract: source };
  } catch (error) {
    if (error instanceof SQLiteError)
      throw new OperatorError(`${name} is damaged, or not a store: ${error.message}`);
    throw error;
  }
}
