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

/** Starts the header of a WAL; the last bit is the byte order of its checksums. */
const walMagic = 0x377f0682;

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
  /** The length of the WAL with that header when its last frame was found there. */
  #walPages = 0;
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
   * each commit, whose frames would follow the hole. Takes 2 µs.
   */
  findBeforeCommit(pages: number): "" | "-wal" | undefined {
    const isThere = this.#walHeader !== undefined && pages > 0 && this.#hasFrames(this.#walHeader, pages);
    return isThere ? this.#found : this.findNow();
  }

  /**
   * Whether the WAL has its last frame, and the one that was its last at the check before: a commit
   * that was running while the file was overwritten has put its own frames behind a hole.
   */
  #hasFrames(header: Buffer, pages: number): boolean {
    const before = this.#walHeader?.equals(header) ? this.#walPages : pages;
    const isThere = this.#hasFrame(header, before) && this.#hasFrame(header, pages);
    if (isThere) this.#walPages = pages;
    return isThere;
  }

  /** Whether the WAL has a frame with the salts of its header, which change at each restart. */
  #hasFrame(header: Buffer, page: number): boolean {
    const position = walHeaderBytes + (page - 1) * (frameHeaderBytes + header.readUInt32BE(8));
    const frame = read(this.#walDescriptor, frameHeaderBytes, position);
    return frame.length === frameHeaderBytes && frame.subarray(8, 16).equals(header.subarray(16, 24));
  }

  #isDatabaseOverwritten(): boolean {
    const descriptor = this.#databaseDescriptor();
    if (descriptor === undefined) return false;
    const before = this.#databaseHeader;
    const header = read(descriptor, databaseHeaderBytes, 0);
    this.#databaseHeader = header;
    return !isInWalMode(header) || (before !== undefined && !mayFollow(before, header));
  }

  /** Whether the header or a frame that SQLite has written is no longer there. */
  #isWalOverwritten(): boolean {
    const header = read(this.#walDescriptor, walHeaderBytes, 0);
    const { pages } = checkpoint(this.#database, "NOOP");
    if (pages === 0) return false;
    const isThere = isWalHeader(header) && this.#hasFrames(header, pages);
    // Another process may be restarting the WAL, and writes the header first; the next check sees
    // it whole.
    if (!read(this.#walDescriptor, walHeaderBytes, 0).equals(header)) return false;
    if (isThere) this.#walHeader = header;
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

/** Where the file was cut, a header that a later commit does not write again is all zeros. */
function isWalHeader(header: Buffer): boolean {
  return header.length === walHeaderBytes && (header.readUInt32BE(0) & ~1) === walMagic;
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
