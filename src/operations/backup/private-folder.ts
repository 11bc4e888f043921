// Folders in which a copy of a store is made, and from which nothing remains: backup, restore and
// the console's backup.

import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../core/store/sqlite/driver.ts";
import { createExclusively, tryLock } from "./file-lock.ts";

const folderPattern = /^plantstore-[0-9a-f]{16}\.partial$/;
const copyName = "copy";
const lockName = "lock";

/**
 * A folder in which one database file can be made. Only the owner can enter it, so what SQLite
 * creates there is private whatever its mode. A lock is held until the folder is disposed of or the
 * process ends, so that a later process can tell an abandoned folder and remove it.
 */
export class PrivateFolder implements Disposable {
  /** The path of the file, which does not exist yet. */
  readonly copy: string;
  readonly path: string;
  readonly #lock: Database;

  private constructor(path: string, lock: Database) {
    this.path = path;
    this.#lock = lock;
    this.copy = join(path, copyName);
  }

  /** Removes the abandoned ones in the same folder first. Throws the system's errors. */
  static create(parent: string): PrivateFolder {
    removeAbandoned(parent);
    for (;;) {
      const path = join(parent, `plantstore-${randomBytes(8).toString("hex")}.partial`);
      mkdirSync(path, { mode: 0o700 });
      try {
        createExclusively(join(path, lockName));
        const lock = tryLock(join(path, lockName));
        if (lock !== undefined) return new PrivateFolder(path, lock);
      } catch (error) {
        // Another process has mistaken it for an abandoned one, and removes it.
        if (!existsSync(path)) continue;
        rmSync(path, { recursive: true });
        throw error;
      }
    }
  }

  [Symbol.dispose](): void {
    try {
      removeContents(this.path);
    } catch {
      // The result of the command is known by now; the next process removes what is left.
    } finally {
      this.#lock.close();
    }
  }
}

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
  // No other user can have put a link into a folder that belongs to this user and has these
  // permissions.
  if (stat?.isDirectory() !== true || stat.uid !== process.getuid?.() || (stat.mode & 0o77) !== 0) return;
  // Without a lock file it is empty. Its process was killed before it created the lock, or is about
  // to create it; it then fails and starts over with another folder.
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
  for (const name of readdirSync(path))
    if (name !== lockName) rmSync(join(path, name), { recursive: true, force: true });
  rmSync(join(path, lockName), { force: true });
  rmdirSync(path);
}
