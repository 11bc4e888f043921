// Detects that another program has removed, replaced or overwritten the files of an open store, such
// as `mv`, `cp backup.db plantstore.db` or `: > plantstore.db-wal`. Commits after that would be
// lost, or mixed with what was written.
//
// Offsets are those of SQLite's "Database File Format": section 1.3 for the database, 4.1 for the
// WAL.

import { closeSync, existsSync, openSync, readlinkSync } from "node:fs";
import { OperatorError } from "../../operator-error.ts";
import { checkpoint } from "./checkpoint.ts";
import type { Database } from "./driver.ts";
import { fileId, isInWalMode, read, readDatabaseHeader, resolvedPath } from "./files.ts";

const walHeaderBytes = 32;
const frameHeaderBytes = 24;

/** Starts the header of a WAL; the last bit is the byte order of its checksums. */
const walMagic = 0x377f0682;

/** The pause between two checks for overwritten files. A check takes 15 µs. */
const checkIntervalMs = 250;

/** The methods return why commits would be lost, if they would. */
export class OpenFiles {
  readonly #path: string;
  readonly #database: Database;
  readonly #databaseDescriptor: number | undefined;
  readonly #files: readonly {
    path: string;
    identify: () => string | undefined;
    opened: string | undefined;
  }[];
  /**
   * A process may close the WAL without losing a lock: in WAL mode they are on the database and the
   * index.
   */
  readonly #walDescriptor: number;
  #nextCheckAt = 0;
  #databaseHeader: Buffer | undefined;
  #walHeader: Buffer | undefined;
  /** The length of the WAL with that header when its last frame was found there. */
  #walPages = 0;
  #overwritten: string | undefined;

  /**
   * Call it as soon as SQLite has opened the database, the WAL and its index.
   *
   * @param databaseDescriptor the open file. Without it nothing is found overwritten: a command is
   *   over before its operator does that.
   */
  constructor(path: string, database: Database, databaseDescriptor?: number) {
    this.#path = path;
    this.#database = database;
    this.#databaseDescriptor = databaseDescriptor;
    const resolved = resolvedPath(path);
    const [wal, index] = [`${resolved}-wal`, `${resolved}-shm`];
    this.#walDescriptor = openSync(wal, "r");
    this.#files = [
      { path, identify: () => fileId(path) },
      { path: wal, identify: nameOf(this.#walDescriptor) ?? (() => fileId(wal)) },
      { path: index, identify: () => fileId(index) },
    ].map((file) => ({ ...file, opened: file.identify() }));
  }

  /** That files were overwritten is found after at most checkIntervalMs. */
  findFault(): string | undefined {
    return performance.now() < this.#nextCheckAt
      ? (this.#findReplaced() ?? this.#overwritten)
      : this.findFaultNow();
  }

  /** Call it before each checkpoint, which could hide what another program has written. */
  findFaultNow(): string | undefined {
    return this.#findReplaced() ?? this.#findOverwritten();
  }

  /**
   * Checks now if the last of the WAL's frames is not where SQLite has written it. Call it before
   * each commit, whose frames would follow the hole. Takes 2 µs.
   */
  findFaultBeforeCommit(pages: number): string | undefined {
    const isThere = this.#walHeader !== undefined && pages > 0 && this.#hasFrames(this.#walHeader, pages);
    return isThere ? this.#overwritten : this.#findOverwritten();
  }

  close(): void {
    closeSync(this.#walDescriptor);
  }

  /** Takes 6 µs; the fsync of a commit takes 100 µs or more. */
  #findReplaced(): string | undefined {
    const replaced = this.#files.find(({ identify, opened }) => identify() !== opened);
    return (
      replaced &&
      `${replaced.path} was removed or replaced while it was open; put it back, or restart with the file that is there`
    );
  }

  /** Remembers a finding: later writes of this process could hide it. */
  #findOverwritten(): string | undefined {
    if (this.#databaseDescriptor === undefined || this.#overwritten !== undefined) return this.#overwritten;
    const isDatabase = this.#isDatabaseOverwritten(this.#databaseDescriptor);
    const suffix = isDatabase ? "" : this.#isWalOverwritten() ? "-wal" : undefined;
    if (suffix !== undefined)
      this.#overwritten = `${this.#path}${suffix} was overwritten while it was open, so plants may be lost; stop the server, and restore a backup`;
    this.#nextCheckAt = performance.now() + checkIntervalMs;
    return this.#overwritten;
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

  #isDatabaseOverwritten(descriptor: number): boolean {
    const before = this.#databaseHeader;
    const header = readDatabaseHeader(descriptor);
    this.#databaseHeader = header;
    return !isInWalMode(header) || (before !== undefined && !mayFollow(before, header));
  }

  /** Whether the header or a frame that SQLite has written is no longer there. */
  #isWalOverwritten(): boolean {
    const header = read(this.#walDescriptor, walHeaderBytes, 0);
    const { pages } = checkpoint(this.#database, "NOOP");
    // -1 while another connection writes the index of the WAL; the next check finds it written.
    if (pages <= 0) return false;
    const isThere = isWalHeader(header) && this.#hasFrames(header, pages);
    // Another process may be restarting the WAL, and writes the header first; the next check sees
    // it whole.
    if (!read(this.#walDescriptor, walHeaderBytes, 0).equals(header)) return false;
    if (isThere) this.#walHeader = header;
    return !isThere;
  }
}

/** Throws an OperatorError if there is a fault. */
export function assertIntact(fault: string | undefined): void {
  if (fault !== undefined) throw new OperatorError(fault);
}

/** Where the file was cut, a header that a later commit does not write again is all zeros. */
function isWalHeader(header: Buffer): boolean {
  return header.length === walHeaderBytes && (header.readUInt32BE(0) & ~1) === walMagic;
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

/**
 * Reads the name that an open file has now, which ends in " (deleted)" if it has none;
 * undefined where the kernel is not Linux. Since 6.13 Linux gives a file a new time with the first
 * write after each stat, and the next fsync must write that to the journal of the file system: with
 * a stat of the WAL before each commit it took 160 µs, without 110.
 */
function nameOf(descriptor: number): (() => string) | undefined {
  const link = `/proc/self/fd/${descriptor}`;
  return existsSync(link) ? () => readlinkSync(link) : undefined;
}
