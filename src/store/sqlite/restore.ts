// A backup into the place of a store.

import { closeSync, constants, copyFileSync, existsSync, openSync, readSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { OperatorError } from "../../operator-error.ts";
import type { StoreSize } from "../plant-store.ts";
import { noteSuffix } from "./disk-failure.ts";
import { type Database, SQLiteError } from "./driver.ts";
import { isEmpty, whileLocked } from "./file-lock.ts";
import { companionsAt, fsyncFile, resolvedPath, versionOf } from "./files.ts";
import { isPlantStore } from "./migrations.ts";
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
 * Makes a backup the store at a path: checked first, and then in its place at once, with all of its plants and tokens.
 * Throws an OperatorError if there is a store that it may not replace, or one that somebody has open.
 */
export function restore(backup: string, path: string, mayReplace: boolean): StoreSize {
  try {
    if (!existsSync(backup)) throw new OperatorError(`there is no backup ${backup}`);
    assertRegularFile(backup);
    const target = resolveTarget(path);
    if (isSameFile(backup, target))
      throw new OperatorError(`${backup} is the store itself; name a backup of it`);
    assertAlone(backup);
    assertClosed(backup);
    assertFree(target, path, mayReplace);
    using folder = PrivateFolder.create(dirname(target));
    copyWhole(backup, folder.copy);
    const size = verifyCopy(folder.copy, backup);
    setPermissions(folder.copy, backup, target);
    fsyncFile(folder.copy);
    replace(target, path, folder.copy, mayReplace);
    return size;
  } catch (error) {
    const isFromSystem = error instanceof Error && "syscall" in error;
    throw isFromSystem ? new OperatorError(`${backup} could not be restored: ${error.message}`) : error;
  }
}

/** A file with a log beside it is not all there is. */
function assertAlone(backup: string): void {
  const [beside] = storeFilesAt(resolvedPath(backup));
  if (beside !== undefined)
    throw new OperatorError(
      `${backup} is a store and no backup, as ${beside} belongs to it; make one with "plantstore backup"`,
    );
}

/** A store that is open under another name has its log beside that one. */
function assertClosed(backup: string): void {
  if (!hasLog(backup)) return;
  try {
    whileLocked(backup, () => undefined);
  } catch (error) {
    // One on a read-only disk cannot be locked, and a damaged one cannot be read: copyWhole and verifyCopy come next.
    if (!(error instanceof SQLiteError)) throw error;
  }
}

/** Whether a file says that it is used with a write-ahead log, as a store does that was opened, in SQLite's file format. */
function hasLog(path: string): boolean {
  const readVersion = 19;
  const header = Buffer.alloc(readVersion + 1);
  const descriptor = openSync(path, "r");
  try {
    return readSync(descriptor, header) === header.length && header[readVersion] === 2;
  } finally {
    closeSync(descriptor);
  }
}

/** Throws if the backup was written meanwhile, as by a copy of it from elsewhere that is not through. */
function copyWhole(backup: string, copy: string): void {
  const before = versionOf(backup);
  copyFileSync(backup, copy, constants.COPYFILE_FICLONE);
  assertAlone(backup);
  if (versionOf(backup) !== before)
    throw new OperatorError(`${backup} was changed while it was copied; try again once it is written`);
}

function assertFree(target: string, path: string, mayReplace: boolean): void {
  if (mayReplace) return;
  const [taken] = isEmpty(target) ? companionsAt(target) : [path];
  if (taken !== undefined)
    throw new OperatorError(`${taken} is there; move it away, or replace the whole store with --force`);
}

/** Puts a copy in the place of a file that nobody has open, and that nobody opens until it is replaced. */
function replace(target: string, path: string, copy: string, mayReplace: boolean): void {
  try {
    putInPlace(copy, target, (database) => {
      assertFree(target, path, mayReplace);
      removeLog(database, target, path);
    });
    // Last: it holds for the store that was there as long as that one is.
    rmSync(target + noteSuffix, { force: true });
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    throw new OperatorError(
      `${path} cannot be replaced (${error.message}); move it away, with -wal and -shm if they are there`,
    );
  }
}

/** All that was in the log is in the file then, should the restore be interrupted. */
function removeLog(database: Database, target: string, path: string): void {
  if (!isPlantStore(database))
    throw new OperatorError(
      `${path} is an SQLite database, but no plant store; name another file with --database`,
    );
  if (!isEmpty(target)) {
    database.run("PRAGMA journal_mode = DELETE");
    // The lock that came with the log may have gone with it.
    database.run("BEGIN EXCLUSIVE");
  }
  for (const companion of companionsAt(target)) rmSync(companion);
}
