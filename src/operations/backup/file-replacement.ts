// Writes a database file whole or not at all: a copy is made in a private folder next to its
// target, and renamed over the target while no process has that open. Backup and restore use it.

import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { OperatorError } from "../../core/operator-error.ts";
import type { Database } from "../../core/store/sqlite/driver.ts";
import {
  failureMarkerSuffix,
  fileId,
  fsyncDirectory,
  isEmpty,
  reservedSuffix,
  sidecarFilesAt,
} from "../../core/store/sqlite/files.ts";
import { createExclusively, whileLocked } from "./file-lock.ts";

/**
 * The path without links of a database file that is to be written: the names of SQLite's sidecar
 * files derive from it. Throws an OperatorError if no database can be written there.
 */
export function resolveTarget(path: string): string {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry?.isSymbolicLink() === true && !existsSync(path))
    throw new OperatorError(
      `${path} is a link to ${readlinkSync(path)}, which does not exist; name the file itself`,
    );
  if (entry === undefined && !existsSync(dirname(path)))
    throw new OperatorError(
      `cannot write ${path}: the folder ${dirname(path)} does not exist; create it first`,
    );
  if (entry !== undefined) assertRegularFile(path);
  const resolved =
    entry === undefined ? join(realpathSync(dirname(path)), basename(path)) : realpathSync(path);
  const suffix = reservedSuffix(resolved);
  if (suffix !== undefined)
    throw new OperatorError(
      `cannot write ${path}: a name that ends with ${suffix} is reserved for a file next to a store; name another file`,
    );
  return resolved;
}

/** Reading another kind of file might never end, or replacing it break something else. */
export function assertRegularFile(path: string): void {
  const stat = statSync(path);
  if (stat.isDirectory()) throw new OperatorError(`${path} is a folder; name a file`);
  if (!stat.isFile()) throw new OperatorError(`${path} is not a regular file; name another one`);
}

export function isSameFile(path: string, other: string): boolean {
  const id = fileId(path);
  return id !== undefined && id === fileId(other);
}

/** The files next to a database that make it a store. The path has no links. */
export function storeFilesAt(resolved: string): string[] {
  const marker = resolved + failureMarkerSuffix;
  return [...sidecarFilesAt(resolved), ...[marker].filter((file) => existsSync(file))];
}

/**
 * Renames a finished copy to a path, while no process has the file open that had this name before.
 * If there is none, an empty file is created first, as a lock needs a file; it is left behind if
 * the process is killed.
 *
 * @param prepare throws if the file may not be replaced, and removes the files next to it.
 */
export function replaceFile(copy: string, path: string, prepare: (database: Database) => void): void {
  const isCreated = tryCreate(path);
  whileLocked(path, (database) => {
    try {
      prepare(database);
      renameSync(copy, path);
    } catch (error) {
      if (isCreated && isEmpty(path)) rmSync(path, { force: true });
      throw error;
    }
    fsyncDirectory(path);
  });
}

function tryCreate(path: string): boolean {
  try {
    createExclusively(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Gives a copy the permissions of its source, without those that the file it replaces lacks or that
 * the umask removes from a new file, and the owner of the file it replaces if the system allows it.
 */
export function setPermissions(copy: string, source: string, target: string): void {
  const replaced = statSync(target, { throwIfNoEntry: false });
  if (replaced !== undefined) tryChown(copy, replaced);
  const { gid } = statSync(copy);
  const allowed = replaced === undefined ? ~process.umask() : permissionsForGroup(gid, replaced);
  chmodSync(copy, (permissionsForGroup(gid, statSync(source)) & allowed & 0o666) | 0o600);
}

/**
 * The permissions of a file in a group; if the file is in another group, that group and all others
 * get what both had.
 */
function permissionsForGroup(gid: number, stat: Stats): number {
  if (stat.gid === gid) return stat.mode;
  const shared = (stat.mode >> 3) & stat.mode & 0o7;
  return (stat.mode & 0o700) | (shared << 3) | shared;
}

function tryChown(path: string, { uid, gid }: Stats): void {
  try {
    chownSync(path, uid, gid);
  } catch (error) {
    // Only root can change an owner. The permissions are computed for the owner and group that the
    // copy then has.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}
