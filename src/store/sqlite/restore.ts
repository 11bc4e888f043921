// A backup into the place of a store.

import { closeSync, constants, copyFileSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import { OperatorError } from "../../operator-error.ts";
import type { StoreSize } from "../plant-store.ts";
import { checkCopy } from "./check.ts";
import { Database, SQLiteError } from "./driver.ts";
import { companionsOf, placeOf, removeStoreFiles, syncFile, syncName } from "./files.ts";

/**
 * Makes a backup the store at a path: checked first, and then in its place at once, with all of its plants and tokens.
 * Throws an OperatorError if there is a store that it may not replace, or one that somebody has open.
 */
export function restore(backup: string, path: string, mayReplace: boolean): StoreSize {
  assertAlone(backup);
  assertFree(path, mayReplace);
  const place = placeOf(path);
  const copy = `${place}.restoring`;
  try {
    removeStoreFiles(copy);
    copyFileSync(backup, copy, constants.COPYFILE_FICLONE);
    const size = checkCopy(copy, backup);
    syncFile(copy);
    if (!existsSync(place)) claim(place);
    replace(place, copy);
    syncName(place);
    return size;
  } catch (error) {
    removeStoreFiles(copy);
    const isFromSystem = error instanceof Error && "syscall" in error;
    throw isFromSystem ? new OperatorError(`${backup} could not be restored: ${error.message}`) : error;
  }
}

/** A file with a log beside it is not all there is. */
function assertAlone(backup: string): void {
  if (!existsSync(backup)) throw new OperatorError(`there is no backup ${backup}`);
  const [companion] = companionsOf(backup);
  if (companion !== undefined)
    throw new OperatorError(
      `${backup} is a store and no backup, as ${companion} belongs to it; make one with "plantstore backup"`,
    );
}

function assertFree(path: string, mayReplace: boolean): void {
  const [taken] = [path, ...companionsOf(path)].filter((file) => existsSync(file));
  if (taken !== undefined && !mayReplace)
    throw new OperatorError(`${taken} is there; move it away, or replace the whole store with --force`);
}

/** Makes an empty file where there is none, for a lock to be on. Fails if somebody else makes one at this moment. */
function claim(path: string): void {
  // A log that was left behind would be played into the new file.
  for (const companion of companionsOf(path)) rmSync(companion);
  closeSync(openSync(path, "wx"));
}

/** Puts a copy in the place of a file that nobody has open, and that nobody opens until it is replaced. */
function replace(path: string, copy: string): void {
  const database = new Database(path, { readwrite: true, create: false, strict: true });
  try {
    // From here on every lock is kept. Leaving the write-ahead log needs the file for oneself, and a server holds a lock
    // on it as long as it runs. All that was in the log is in the file then, should this be broken off.
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    database.run("PRAGMA journal_mode = DELETE");
    database.run("BEGIN EXCLUSIVE");
    for (const companion of companionsOf(path)) rmSync(companion);
    renameSync(copy, path);
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    throw new OperatorError(
      /^SQLITE_(?:BUSY|LOCKED)/.test(error.code ?? "")
        ? `${path} is open, by a server perhaps; stop it first`
        : `${path} cannot be replaced (${error.message}); move it away, with -wal and -shm if they are there`,
    );
  } finally {
    database.close();
  }
}
