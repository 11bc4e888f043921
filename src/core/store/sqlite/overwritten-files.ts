// Detects that another program has written into the files of an open store, such as `cp backup.db
// plantstore.db` or `: > plantstore.db-wal`. Commits after that would be lost, or mixed with what
// was written.
//
// Offsets are those of SQLite's "Database File Format": section 1.3 for the database, 4.1 for the
// WAL.

import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync } from "node:fs";
import { OperatorError } from "../../operator-error.ts";
import { checkpoint } from "./checkpoint.ts";
import type { Database } from "./driver.ts";
import { isEmpty, resolvedPath } from "./files.ts";

const databaseHeaderBytes = 100;
const walHeaderBytes = 32;
const frameHeaderBytes = 24;

/** The pause between two checks of a server that is busy. A check takes 15 µs. */
const checkIntervalMs = 250;

export function overwrittenMessage(path: string, suffix: string): string {
  return `${path}${suffix} was overwritten while it was open, so plants may be lost; stop the server, and restore a backup`;
}

export class OverwriteCheck {
  readonly #database: Database;
  readonly #walDescriptor: number;
  readonly #databaseDescriptor: () => number | undefined;
  #nextCheckAt = 0;
  #databaseHeader: Buffer | undefined;
  #walHeader: Buffer | undefined;
  #found: "" | "-wal" | undefined;

  /**
   * @param databaseDescriptor undefined while the file is not open. This object never opens it: a
   *   process that closes a file loses every POSIX lock that it holds on it.
   */
  constructor(database: Database, walDescriptor: number, databaseDescriptor: () => number | undefined) {
    this.#database = database;
    this.#walDescriptor = walDescriptor;
    this.#databaseDescriptor = databaseDescriptor;
  }

  /**
   * The suffix of the file that was overwritten, as seen at most checkIntervalMs ago. A find is
   * remembered: later writes of this process could hide it.
   */
  find(): "" | "-wal" | undefined {
    return performance.now() < this.#nextCheckAt ? this.#found : this.findNow();
  }

  /** Call it before each checkpoint, which could hide what another program has written. */
  findNow(): "" | "-wal" | undefined {
    this.#found ??= this.#isDatabaseOverwritten() ? "" : this.#isWalOverwritten() ? "-wal" : undefined;
    this.#nextCheckAt = performance.now() + checkIntervalMs;
    return this.#found;
  }

  /**
   * Checks now if the last of the WAL's frames is not where SQLite has written it. Call it before
   * each commit, whose frames would follow the hole. Takes 1 µs.
   */
  findBeforeCommit(pages: number): "" | "-wal" | undefined {
    const header = this.#walHeader;
    const isThere =
      header !== undefined && pages > 0 && hasSaltsOf(this.#readFrame(pages, header.readUInt32BE(8)), header);
    return isThere ? this.#found : this.findNow();
  }

  #readFrame(page: number, pageBytes: number): Buffer {
    const position = walHeaderBytes + (page - 1) * (frameHeaderBytes + pageBytes);
    return read(this.#walDescriptor, frameHeaderBytes, position);
  }

  #isDatabaseOverwritten(): boolean {
    const descriptor = this.#databaseDescriptor();
    if (descriptor === undefined) return false;
    const before = this.#databaseHeader;
    const header = read(descriptor, databaseHeaderBytes, 0);
    this.#databaseHeader = header;
    return !isInWalMode(header) || (before !== undefined && !mayFollow(before, header));
  }

  /**
   * Whether a frame that SQLite has written is no longer there. A frame carries the salts of the
   * WAL's header, which change whenever the WAL is restarted, by any process.
   */
  #isWalOverwritten(): boolean {
    const header = read(this.#walDescriptor, walHeaderBytes, 0);
    const { pages } = checkpoint(this.#database, "NOOP");
    if (pages === 0) return false;
    const isThere =
      header.length === walHeaderBytes && hasSaltsOf(this.#readFrame(pages, header.readUInt32BE(8)), header);
    // Another process may be restarting the WAL, and writes the header first; the next check sees
    // it whole.
    if (!read(this.#walDescriptor, walHeaderBytes, 0).equals(header)) return false;
    if (header.length === walHeaderBytes) this.#walHeader = header;
    return !isThere;
  }
}

/**
 * Throws an OperatorError if the WAL of a database file belongs to another one, such as the store
 * over which a backup was copied: SQLite would write its pages over those of the copy. Does nothing
 * if this process may have the file open, as it would lose its locks with a second descriptor.
 */
export function assertOwnWal(path: string): void {
  const resolved = resolvedPath(path);
  if (isEmpty(`${resolved}-wal`)) return;
  if (isEmpty(resolved) || (!mayBeOpenHere(resolved) && !isInWalMode(readHeader(resolved))))
    throw new OperatorError(
      `${path} was copied over a store whose newest plants are in ${resolved}-wal; move that file and ${resolved}-shm away to use the copy`,
    );
}

function mayBeOpenHere(resolved: string): boolean {
  const folder = "/proc/self/fd";
  if (!existsSync(folder)) return true;
  return readdirSync(folder).some((descriptor) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`) === resolved;
    } catch {
      // The descriptor that listed the folder is closed.
      return false;
    }
  });
}

/** The header of a database file. No connection of this process may have it open. */
export function readHeader(path: string): Buffer {
  const descriptor = openSync(path, "r");
  try {
    return read(descriptor, databaseHeaderBytes, 0);
  } finally {
    closeSync(descriptor);
  }
}

function hasSaltsOf(frame: Buffer, walHeader: Buffer): boolean {
  return frame.length === frameHeaderBytes && frame.subarray(8, 16).equals(walHeader.subarray(16, 24));
}

function read(descriptor: number, length: number, position: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position));
}

export function isInWalMode(header: Buffer): boolean {
  return header.length === databaseHeaderBytes && header[18] === 2 && header[19] === 2;
}

/**
 * Whether checkpoints can have turned one header into another: the change counter and the schema
 * cookie never decrease, and the number of pages decreases only with VACUUM, which changes the
 * schema cookie.
 */
function mayFollow(before: Buffer, after: Buffer): boolean {
  const growthAt = (offset: number) => after.readUInt32BE(offset) - before.readUInt32BE(offset);
  const [changes, pages, schema] = [growthAt(24), growthAt(28), growthAt(40)];
  return changes >= 0 && schema >= 0 && (pages >= 0 || schema > 0);
}
