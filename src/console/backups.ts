// The console's backup: a separate process copies the store to a file, which the browser downloads.
// A download that is slow, or whose browser has gone, holds only the file, which is removed after
// ten minutes.

import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { AdminError } from "../core/admin/request-bodies.ts";
import type { PrivateFolder } from "../core/store/sqlite/private-folder.ts";
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
  #starting: ReturnType<Backup["status"]> | undefined;

  constructor(dependencies: BackupDependencies) {
    this.#dependencies = dependencies;
  }

  async start() {
    if (this.#starting !== undefined || this.#last?.state === "copying")
      throw new AdminError(409, "A backup is being made; wait until it is ready, or cancel it.");
    this.#starting = this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start() {
    const { folder } = this.#dependencies;
    await this.#last?.remove();
    const storeBytes = await this.#dependencies.storeBytes().catch(() => undefined);
    const { bavail, bsize } = await statfs(folder);
    const freeBytes = bavail * bsize;
    if (storeBytes !== undefined && storeBytes > freeBytes)
      throw new AdminError(
        507,
        `The copy needs ${storeBytes.toLocaleString("en-US")} bytes in ${folder}, where ${freeBytes.toLocaleString("en-US")} are free. Run "plantstore backup" to another disk.`,
      );
    // Loaded here because it loads SQLite, which a server needs only in its threads.
    const { PrivateFolder } = await import("../core/store/sqlite/private-folder.ts");
    this.#last = new Backup(PrivateFolder.create(folder), storeBytes, this.#dependencies.copy);
    return this.#last.status();
  }

  /** The last backup, or null. */
  async status() {
    return (await this.#last?.status()) ?? null;
  }

  async cancel(): Promise<null> {
    await this.close();
    return null;
  }

  download(): Response {
    const response = this.#last?.download();
    if (response === undefined) throw new AdminError(404, "There is no backup to download; make one.");
    return response;
  }

  async close(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    const last = this.#last;
    this.#last = undefined;
    await last?.remove();
  }
}

class Backup {
  state: State = "copying";
  readonly #folder: PrivateFolder;
  readonly #storeBytes: number | undefined;
  readonly #startedAt = new Date().toISOString();
  readonly #copy: RunningCopy;
  readonly #ended: Promise<void>;
  #bytes = 0;
  #sent = 0;
  #message: string | undefined;
  #timer: Timer | undefined;

  constructor(folder: PrivateFolder, storeBytes: number | undefined, copy: BackupDependencies["copy"]) {
    this.#folder = folder;
    this.#storeBytes = storeBytes;
    this.#copy = copy(folder.copy);
    this.#ended = this.#copy.ended.then((failure) => this.#finish(failure));
  }

  async status() {
    const bytes = this.state === "copying" ? await this.#copiedBytes() : this.#bytes;
    return {
      state: this.state,
      bytes,
      sent: this.#sent,
      storeBytes: this.#storeBytes ?? null,
      startedAt: this.#startedAt,
      message: this.#message ?? null,
    };
  }

  /** The file, which is removed once it is sent; undefined if there is none. */
  download(): Response | undefined {
    if (this.state !== "ready") return undefined;
    const date = this.#startedAt.slice(0, 19).replaceAll(":", "-");
    return respondDownload(this.#pieces(), pieceBytes, {
      "Content-Type": "application/vnd.sqlite3",
      "Content-Disposition": `attachment; filename="plantstore-${date}Z.db"`,
    });
  }

  /** Ends the copy, and removes its file. */
  async remove(): Promise<void> {
    clearTimeout(this.#timer);
    this.#copy.cancel();
    await this.#ended;
    clearTimeout(this.#timer);
    this.#folder[Symbol.dispose]();
    this.state = "failed";
    this.#message ??= "The copy was removed; make another.";
  }

  async #finish(failure: string | undefined): Promise<void> {
    if (failure === undefined) {
      this.#bytes = (await stat(this.#folder.copy)).size;
      this.state = "ready";
      this.#timer = setTimeout(() => void this.remove(), keptMs);
      return;
    }
    this.state = "failed";
    this.#message = failure;
    this.#folder[Symbol.dispose]();
  }

  /** The copy is made under another name, in a subfolder. */
  async #copiedBytes(): Promise<number> {
    const names = await readdir(this.#folder.path, { recursive: true }).catch(() => []);
    const sizes = await Promise.all(
      names.map((name) =>
        stat(join(this.#folder.path, name)).then(
          (file) => (file.isFile() ? file.size : 0),
          () => 0,
        ),
      ),
    );
    return Math.max(0, ...sizes);
  }

  async *#pieces(): AsyncGenerator<Uint8Array> {
    const file = Bun.file(this.#folder.copy);
    this.#sent = 0;
    for (let start = 0; start < this.#bytes; start += pieceBytes) {
      const piece = await file.slice(start, start + pieceBytes).bytes();
      this.#timer?.refresh();
      yield piece;
      this.#sent = Math.min(this.#bytes, start + pieceBytes);
    }
    // The next download would need another copy: this one is as old as its start.
    await this.remove();
    this.state = "sent";
    this.#message = undefined;
  }
}
