// The file that a backup or a restore writes: where it is, that it may be replaced, and how a finished copy gets its name.

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
import { OperatorError } from "../../operator-error.ts";
import { noteSuffix } from "./disk-failure.ts";
import type { Database } from "./driver.ts";
import { fileId } from "./file-identity.ts";
import { isEmpty, whileLocked } from "./file-lock.ts";
import { companionSuffixes, companionsAt, fsyncDirectory } from "./files.ts";
import { createExclusively } from "./private-folder.ts";

/**
 * The real path of a database file that is to be written, with all links resolved, so that SQLite's names for what is
 * beside it follow from it. Throws an OperatorError if nothing can be written there.
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
  const suffix = [...companionSuffixes, noteSuffix].find((each) => resolved.endsWith(each));
  if (suffix !== undefined)
    throw new OperatorError(
      `cannot write ${path}: a name that ends with ${suffix} is that of a file beside a store; name another file`,
    );
  return resolved;
}

/** Throws an OperatorError if what has this path is no file, so that reading it may never end or replacing it break more. */
export function assertRegularFile(path: string): void {
  const stat = statSync(path);
  if (stat.isDirectory()) throw new OperatorError(`${path} is a folder; name a file`);
  if (!stat.isFile()) throw new OperatorError(`${path} is not a regular file; name another one`);
}

/** Whether two paths lead to the same file. */
export function isSameFile(path: string, other: string): boolean {
  const identity = fileId(path);
  return identity !== undefined && identity === fileId(other);
}

/** What belongs to a file as a store: SQLite's companions, and the note that its disk has failed. The path has no links. */
export function storeFilesAt(place: string): string[] {
  return [...companionsAt(place), ...[place + noteSuffix].filter((note) => existsSync(note))];
}

/**
 * Gives a finished copy its name, at once: nobody has the file open that had the name before. The file is created first
 * where there is none, as there must be one to lock; should this be interrupted, an empty one stays.
 *
 * @param prepare Throws if the file may not be replaced, and removes what is beside it.
 */
export function putInPlace(copy: string, path: string, prepare: (database: Database) => void): void {
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
 * Gives a copy the permissions of what it was made from, less those that the file it replaces does not give or that the
 * umask takes from a new file; and the owner of the file that it replaces, where the system allows it.
 */
export function setPermissions(copy: string, source: string, target: string): void {
  const replaced = statSync(target, { throwIfNoEntry: false });
  if (replaced !== undefined) tryChown(copy, replaced);
  const { gid } = statSync(copy);
  const allowed = replaced === undefined ? ~process.umask() : permissionsFor(gid, replaced);
  chmodSync(copy, (permissionsFor(gid, statSync(source)) & allowed & 0o666) | 0o600);
}

/** The permissions of a file for another one of a group; where that is another group, its members may only do what all may. */
function permissionsFor(gid: number, stat: Stats): number {
  if (stat.gid === gid) return stat.mode;
  const shared = (stat.mode >> 3) & stat.mode & 0o7;
  return (stat.mode & 0o700) | (shared << 3) | shared;
}

function tryChown(path: string, { uid, gid }: Stats): void {
  try {
    chownSync(path, uid, gid);
  } catch (error) {
    // Only root gives files away. The permissions are computed for the owner and group that the copy has.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}
