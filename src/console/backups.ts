// The console's backup: a separate process copies the store to a file, which the browser downloads.
// A download that is slow, or whose browser has gone, holds only the file, which is removed after
// ten minutes.

import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { AdminError } from "../core/admin/request-bodies.ts";
import { errorMessage } from "../core/operator-error.ts";
import type { PrivateFolder } from "../operations/backup/private-folder.ts";
import { respondDownload } from "./responses.ts";

/** A copy that is being made by another process. */
export interface RunningCopy {
  /** Resolves when the copy is complete and verified: undefined, or why it failed. */
  readonly ended: Promise<string | undefined>;
  /** Ends the process; `ended` resolves then. */
  cancel(): void;
}

export interface BackupDependencies {
  /** The folder for the copies: that of the store. */
  readonly folder: string;
  readonly copy: (file: string) => RunningCopy;
  /** The size of the store, to which that of the copy is compared. */
  readonly storeBytes: () => Promise<number | undefined>;
}

/**
 * A copy that is not downloaded is removed after this time, and after a crash of the server by the
 * next backup.
 */
const keptMs = 600_000;

/** Read and sent at a time. */
const pieceBytes = 2 ** 20;

type State = "copying" | "ready" | "sent" | "failed";

/** One at a time. */
export class Backups {
  readonly #dependencies: BackupDependencies;
  #last: Backup | undefined;

  constructor(dependencies: BackupDependencies) {
    this.#dependencies = dependencies;
  }

  /** Starts a backup, which replaces the last one. */
  start(): void {
    if (this.#last?.state === "copying")
      throw new AdminError(409, "A backup is being made; wait until it is ready, or cancel it.");
    this.#last = new Backup(this.#dependencies, this.#last);
  }

  /** The last backup, or null. */
  async status() {
    return (await this.#last?.status()) ?? null;
  }

  download(): Response {
    const response = this.#last?.download();
    if (response === undefined) throw new AdminError(404, "There is no backup to download; make one.");
    return response;
  }

  /** Cancels or removes the last backup. */
  async close(): Promise<void> {
    const last = this.#last;
    this.#last = undefined;
    await last?.remove();
  }
}

class Backup {
  state: State = "copying";
  readonly #dependencies: BackupDependencies;
  readonly #startedAt = new Date().toISOString();
  readonly #ended: Promise<void>;
  #storeBytes: number | undefined;
  #folder: PrivateFolder | undefined;
  #copy: RunningCopy | undefined;
  #isRemoved = false;
  #bytes = 0;
  #message: string | undefined;
  #timer: Timer | undefined;

  /** @param previous is removed first. */
  constructor(dependencies: BackupDependencies, previous: Backup | undefined) {
    this.#dependencies = dependencies;
    this.#ended = this.#make(previous).catch((error) => {
      this.state = "failed";
      this.#message = errorMessage(error);
      this.#folder?.[Symbol.dispose]();
    });
  }

  async status() {
    const bytes = this.state === "copying" ? await this.#copiedBytes() : this.#bytes;
    return {
      state: this.state,
      bytes,
      storeBytes: this.#storeBytes ?? null,
      startedAt: this.#startedAt,
      message: this.#message ?? null,
    };
  }

  /** The file, which is removed once it is sent; undefined if there is none. */
  download(): Response | undefined {
    if (this.state !== "ready" || this.#folder === undefined) return undefined;
    const date = this.#startedAt.slice(0, 19).replaceAll(":", "-");
    return respondDownload(this.#pieces(this.#folder.copy), pieceBytes, {
      "Content-Type": "application/vnd.sqlite3",
      "Content-Disposition": `attachment; filename="plantstore-${date}Z.db"`,
    });
  }

  /** Ends the copy, and removes its file. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    this.#copy?.cancel();
    await this.#ended;
    clearTimeout(this.#timer);
    this.#folder?.[Symbol.dispose]();
    this.state = "failed";
    this.#message ??= "The copy was removed; make another.";
  }

  async #make(previous: Backup | undefined): Promise<void> {
    await previous?.remove();
    const { folder, copy, storeBytes } = this.#dependencies;
    this.#storeBytes = await storeBytes().catch(() => undefined);
    const { bavail, bsize } = await statfs(folder);
    const freeBytes = bavail * bsize;
    if (this.#storeBytes !== undefined && this.#storeBytes > freeBytes)
      throw new Error(
        `The copy needs ${this.#storeBytes.toLocaleString("en-US")} bytes in ${folder}, where ${freeBytes.toLocaleString("en-US")} are free. Run "plantstore backup" to another disk.`,
      );
    // Loaded here because it loads SQLite, which a server needs only in its threads.
    const { PrivateFolder } = await import("../operations/backup/private-folder.ts");
    if (this.#isRemoved) return;
    this.#folder = PrivateFolder.create(folder);
    this.#copy = copy(this.#folder.copy);
    const failure = await this.#copy.ended;
    if (failure !== undefined) throw new Error(failure);
    this.#bytes = (await stat(this.#folder.copy)).size;
    this.state = "ready";
    this.#timer = setTimeout(() => void this.remove(), keptMs);
  }

  /** The copy is made under another name, in a subfolder. */
  async #copiedBytes(): Promise<number> {
    const path = this.#folder?.path;
    if (path === undefined) return 0;
    const names = await readdir(path, { recursive: true }).catch(() => []);
    const sizes = await Promise.all(
      names.map((name) =>
        stat(join(path, name)).then(
          (file) => (file.isFile() ? file.size : 0),
          () => 0,
        ),
      ),
    );
    return Math.max(0, ...sizes);
  }

  async *#pieces(path: string): AsyncGenerator<Uint8Array> {
    const file = Bun.file(path);
    for (let start = 0; start < this.#bytes; start += pieceBytes) {
      const piece = await file.slice(start, start + pieceBytes).bytes();
      this.#timer?.refresh();
      yield piece;
    }
    // The next download would need another copy: this one is as old as its start.
    await this.remove();
    this.state = "sent";
    this.#message = undefined;
  }
}
