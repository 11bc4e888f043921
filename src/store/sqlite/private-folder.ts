// A folder for a copy in the making: private, of this process alone, and removed by the next one if this one is killed.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import type { Database } from "./driver.ts";
import { tryLock } from "./file-lock.ts";
import { removeStoreFiles } from "./files.ts";

const namePattern = /^plantstore-[0-9a-f]{16}\.partial$/;
const copyName = "copy";
const lockName = "lock";

/**
 * A folder with a random name, in which one file can be made. Its permissions are the owner's alone, so that what SQLite
 * makes in it is private whatever its mode. A lock is held on it until it is disposed of, or its process ends.
 */
export class PrivateFolder implements Disposable {
  /** Where the file is to be made. It is there, empty and private. */
  readonly copy: string;
  readonly #path: string;
  readonly #lock: Database;

  private constructor(path: string, lock: Database) {
    this.#path = path;
    this.#lock = lock;
    this.copy = join(path, copyName);
  }

  /** Makes one in a folder, after removing those that were left behind there. Throws the system's errors. */
  static create(parent: string): PrivateFolder {
    removeAbandoned(parent);
    for (;;) {
      const path = join(parent, `plantstore-${randomBytes(8).toString("hex")}.partial`);
      mkdirSync(path, { mode: 0o700 });
      const lock = lockNew(path);
      if (lock === undefined) continue;
      using made = new DisposableStack();
      const folder = made.use(new PrivateFolder(path, lock));
      createExclusively(folder.copy);
      made.move();
      return folder;
    }
  }

  [Symbol.dispose](): void {
    try {
      removeContents(this.#path);
    } catch {
      // The outcome is settled by now. What cannot be removed is left to the next one.
    } finally {
      this.#lock.close();
    }
  }
}

/** Creates an empty file that only its owner may read. Throws if there is anything of that name, a link too. */
export function createExclusively(path: string): void {
  closeSync(openSync(path, "wx", 0o600));
}

/** Locks a new folder; undefined if another process took it for an abandoned one first, and removes it. */
function lockNew(path: string): Database | undefined {
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
    for (const name of readdirSync(parent)) if (namePattern.test(name)) removeIfAbandoned(join(parent, name));
  } catch {
    // They take up room and no more: what is asked for does not depend on it.
  }
}

function removeIfAbandoned(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  // Into a folder of this user's, with these permissions, nobody else can have put a link.
  if (stat?.isDirectory() !== true || stat.uid !== process.getuid?.() || (stat.mode & 0o77) !== 0) return;
  // Its process was killed before the lock was there, so that it is empty; or has yet to make it, and then makes another one.
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

/** The lock comes last: a folder without it is empty. */
function removeContents(path: string): void {
  removeStoreFiles(join(path, copyName));
  rmSync(join(path, lockName), { force: true });
  rmdirSync(path);
}
