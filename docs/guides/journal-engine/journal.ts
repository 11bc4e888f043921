// The file: one JSON text in each line, appended and fsynced. Several processes append to one file, and each reads what the
// others have appended, so that all of them see the same entries in the same order.

import { closeSync, constants, existsSync, fsyncSync, openSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { OperatorError } from "../../operator-error.ts";
import type { OpenMode } from "../plant-store.ts";

/** The first entry of every journal. */
const header = { journal: "plantstore", version: 1 };

const lineFeed = 0x0a;
const readBytes = 2 ** 20;

/** An entry is any JSON object; `id` is unique, so that a process finds its own. */
export interface Entry {
  readonly id: string;
}

export class Journal {
  readonly #path: string;
  readonly #file: FileHandle;
  /** Where the first line that has not been read starts. */
  #offset = 0;
  /** Why an fsync has failed. Nothing is appended afterwards: the pages that it did not write may be lost. */
  #failure: string | undefined;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** Opens a file, or creates it with the mode `create`. Throws an OperatorError if it is missing or another file. */
  static async open(path: string, mode: OpenMode): Promise<Journal> {
    const isNew = !existsSync(path);
    if (isNew && mode !== "create") {
      throw new OperatorError(
        `there is no store at ${resolve(path)}; name yours with --database, or create one there with "plantstore migrate"`,
      );
    }
    const create = mode === "create" ? constants.O_CREAT : 0;
    const file = await open(path, constants.O_RDWR | constants.O_APPEND | create, 0o600).catch((error) => {
      throw new OperatorError(`cannot open the store ${path}: ${error.message}`);
    });
    const journal = new Journal(path, file);
    if (isNew) {
      await journal.append(header);
      // The entry of the file in its folder.
      const folder = openSync(dirname(resolve(path)), "r");
      fsyncSync(folder);
      closeSync(folder);
    }
    const [first] = await journal.read();
    if ((first as Partial<typeof header> | undefined)?.journal !== header.journal) {
      await file.close();
      throw new OperatorError(`${path} is not a journal of plants; name another file with --database`);
    }
    journal.#offset = 0;
    return journal;
  }

  /**
   * Appends an entry, and resolves once it and all before it are on stable storage. Rejects with an OperatorError: the entry
   * may be in the file or not.
   */
  async append(entry: object): Promise<void> {
    if (this.#failure !== undefined) throw new OperatorError(this.#failure);
    // One write, as another process may append at the same time. The line feed before it ends a line that a killed process left.
    const bytes = Buffer.from(`\n${JSON.stringify(entry, exactIds)}\n`);
    const { bytesWritten } = await this.#file.write(bytes).catch((error) => {
      throw new OperatorError(`${this.#path} cannot be written: ${error.message}`);
    });
    if (bytesWritten < bytes.length)
      throw new OperatorError(`${this.#path} cannot be written: the disk is full`);
    await this.#file.datasync().catch((error) => {
      this.#failure = `an fsync of ${this.#path} failed: ${error.message}; restart the server`;
      throw new OperatorError(this.#failure);
    });
  }

  /** The entries that were appended since the last call, by any process. */
  async read(): Promise<object[]> {
    const chunks: Buffer[] = [];
    for (let end = this.#offset; ; ) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(readBytes), 0, readBytes, end);
      chunks.push(buffer.subarray(0, bytesRead));
      end += bytesRead;
      if (bytesRead < readBytes) break;
    }
    const bytes = Buffer.concat(chunks);
    // A line without an end is still being written.
    const complete = bytes.subarray(0, bytes.lastIndexOf(lineFeed) + 1);
    this.#offset += complete.length;
    return complete.toString().split("\n").flatMap(parse);
  }

  /** Why an fsync has failed, if one has. */
  get failure(): string | undefined {
    return this.#failure;
  }

  async bytes(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Ids as digits: JSON.parse would round a number. */
function exactIds(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** None for an empty line, and for one that was not written to its end: its append was never confirmed. */
function parse(line: string): object[] {
  try {
    return line === "" ? [] : [JSON.parse(line)];
  } catch {
    return [];
  }
}
