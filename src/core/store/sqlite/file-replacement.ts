// Writes a database file whole or not at all: a copy is made in a private folder beside its target, and renamed over the
// target while no process has that open. Backup and restore use it.

import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { OperatorError } from "../../operator-error.ts";
import { lockWaitMs } from "./connection.ts";
import { Database } from "./driver.ts";
import { isLocked } from "./errors.ts";
import { failureMarkerSuffix, reservedSuffix } from "./file-names.ts";
import { fileId, fsyncDirectory, isEmpty, removeStoreFiles, sidecarFilesAt } from "./files.ts";

/** The pause between two attempts to lock a file. */
const lockPauseMs = 10;

const folderPattern = /^plantstore-[0-9a-f]{16}\.partial$/;
const copyName = "copy";
const lockName = "lock";

/**
 * The real path of a database file that is to be written, with all links resolved: the names of SQLite's sidecar files
 * derive from it. Throws an OperatorError if no database can be written there.
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
      `cannot write ${path}: a name that ends with ${suffix} is reserved for a file beside a store; name another file`,
    );
  return resolved;
}

/** Throws an OperatorError if a path is not a regular file: reading it might never end, or replacing it break something else. */
export function assertRegularFile(path: string): void {
  const stat = statSync(path);
  if (stat.isDirectory()) throw new OperatorError(`${path} is a folder; name a file`);
  if (!stat.isFile()) throw new OperatorError(`${path} is not a regular file; name another one`);
}

/** Whether two paths lead to the same file. */
export function isSameFile(path: string, other: string): boolean {
  const id = fileId(path);
  return id !== undefined && id === fileId(other);
}

/** The files beside a database that make it a store: the sidecar files and the failure marker. The path has no links. */
export function storeFilesAt(resolved: string): string[] {
  const marker = resolved + failureMarkerSuffix;
  return [...sidecarFilesAt(resolved), ...[marker].filter((file) => existsSync(file))];
}

/**
 * A folder with a random name in which one database file can be made. Only the owner can enter it, so what SQLite creates
 * there is private whatever its mode. A lock is held until the folder is disposed of or the process ends, so that a later
 * process can tell an abandoned folder and remove it.
 */
export class PrivateFolder implements Disposable {
  /** The path of the file, which exists and is empty. */
  readonly copy: string;
  readonly #path: string;
  readonly #lock: Database;

  private constructor(path: string, lock: Database) {
    this.#path = path;
    this.#lock = lock;
    this.copy = join(path, copyName);
  }

  /** Creates one in a folder, after removing the abandoned ones there. Throws the system's errors. */
  static create(parent: string): PrivateFolder {
    removeAbandoned(parent);
    for (;;) {
      const path = join(parent, `plantstore-${randomBytes(8).toString("hex")}.partial`);
      mkdirSync(path, { mode: 0o700 });
      const lock = lockFolder(path);
      if (lock === undefined) continue;
      using created = new DisposableStack();
      const folder = created.use(new PrivateFolder(path, lock));
      createExclusively(folder.copy);
      created.move();
      return folder;
    }
  }

  [Symbol.dispose](): void {
    try {
      removeContents(this.#path);
    } catch {
      // The result of the command is known by now; the next process removes what is left.
    } finally {
      this.#lock.close();
    }
  }
}

/** Creates an empty file that only its owner can read. Throws if the name exists, also as a link. */
function createExclusively(path: string): void {
  closeSync(openSync(path, "wx", 0o600));
}

/** Locks a new folder; undefined if another process has mistaken it for an abandoned one, and removes it. */
function lockFolder(path: string): Database | undefined {
  try {
    createExclusively(join(path, lockName));
    const lock = tryLock(join(path, lockName));
    if (lock !== undefined) return lock;
  } catch (error) {
    if (existsSync(path)) {
      rmSync(path, { recursive: true });
      throw error;
    }
  }
  return undefined;
}

/** Removes the folders that killed processes of this user have left in a folder. */
function removeAbandoned(parent: string): void {
  try {
    for (const name of readdirSync(parent))
      if (folderPattern.test(name)) removeIfAbandoned(join(parent, name));
  } catch {
    // They only take up space; the command does not depend on it.
  }
}

function removeIfAbandoned(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  // No other user can have put a link into a folder that belongs to this user and has these permissions.
  if (stat?.isDirectory() !== true || stat.uid !== process.getuid?.() || (stat.mode & 0o77) !== 0) return;
  // Without a lock file it is empty. Its process was killed before it created the lock, or is about to create it; it then
  // fails and starts over with another folder.
  if (!existsSync(join(path, lockName))) {
    rmdirSync(path);
    return;
  }
  const lock = tryLock(join(path, lockName));
  if (lock === undefined) return;
  try {
    removeContents(path);
  } finally {
    lock.close();
  }
}

/** Removes the lock file last: a folder without it is empty. */
function removeContents(path: string): void {
  removeStoreFiles(join(path, copyName));
  rmSync(join(path, lockName), { force: true });
  rmdirSync(path);
}

/**
 * Runs an action while no other process has a database file open or can open it. Throws an OperatorError if one has it
 * open, and SQLite's error if the file cannot be locked or is not a database.
 */
export function whileLocked<T>(path: string, action: (database: Database) => T): T {
  const deadline = performance.now() + lockWaitMs;
  for (;;) {
    const database = tryLock(path);
    if (database !== undefined) {
      try {
        return action(database);
      } finally {
        database.close();
      }
    }
    if (performance.now() > deadline)
      throw new OperatorError(`${path} is open, perhaps in a server; stop it first`);
    Bun.sleepSync(lockPauseMs);
  }
}

/**
 * Opens a database file and locks it until the connection is closed. A server holds a lock as long as it runs, a command
 * while it reads or writes. Undefined if there is such a lock, or if the file was replaced at this moment.
 */
function tryLock(path: string): Database | undefined {
  const id = fileId(path);
  const database = new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
  try {
    // A connection that waited could get the lock of a file that was replaced meanwhile.
    database.run("PRAGMA busy_timeout = 0");
    // From here on SQLite releases no lock before the connection is closed.
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    // In an empty file a transaction writes a first page, and a journal file unless that is in memory.
    if (isEmpty(path)) database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN EXCLUSIVE");
    database.run("ROLLBACK");
    if (id !== undefined && id === fileId(path)) return database;
  } catch (error) {
    if (!isLocked(error)) {
      database.close();
      throw error;
    }
  }
  database.close();
  return undefined;
}

/**
 * Renames a finished copy to a path, while no process has the file open that had this name before. If there is none, an
 * empty file is created first, as a lock needs a file; it is left behind if the process is killed.
 *
 * @param prepare throws if the file may not be replaced, and removes the files beside it.
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
 * Gives a copy the permissions of its source, without those that the file it replaces lacks or that the umask removes
 * from a new file, and the owner of the file it replaces if the system allows it.
 */
export function setPermissions(copy: string, source: string, target: string): void {
  const replaced = statSync(target, { throwIfNoEntry: false });
  if (replaced !== undefined) tryChown(copy, replaced);
  const { gid } = statSync(copy);
  const allowed = replaced === undefined ? ~process.umask() : permissionsForGroup(gid, replaced);
  chmodSync(copy, (permissionsForGroup(gid, statSync(source)) & allowed & 0o666) | 0o600);
}

/** The permissions of a file in a group; if the file is in another group, that group and all others get what both had. */
function permissionsForGroup(gid: number, stat: Stats): number {
  if (stat.gid === gid) return stat.mode;
  const shared = (stat.mode >> 3) & stat.mode & 0o7;
  return (stat.mode & 0o700) | (shared << 3) | shared;
}

function tryChown(path: string, { uid, gid }: Stats): void {
  try {
    chownSync(path, uid, gid);
  } catch (error) {
    // Only root can change an owner. The permissions are computed for the owner and group that the copy then has.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}
