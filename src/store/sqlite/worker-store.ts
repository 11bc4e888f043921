// The SQLite engine for a server: the same store, on a thread of its own.

import type { NewPlant } from "../../contract/plant.ts";
import { OperatorError } from "../../operator-error.ts";
import type { PlantIndexes } from "../plant-reader.ts";
import type { OpenMode, Outcome, PlantStore, StoreObserver } from "../plant-store.ts";
import type { TokenStore } from "../token-store.ts";
import {
  type CallName,
  decodeOutcomes,
  encodeBatch,
  type ThreadCalls,
  type ThreadReply,
} from "./batch-codec.ts";
import { DiskFailureError } from "./disk-failure.ts";
import { bytesOnDisk } from "./files.ts";
import { SqliteReader } from "./reader.ts";

export class SqliteThread implements PlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly tokens: TokenStore = {
    add: (token) => this.#call("addToken", token),
    addFirst: (token) => this.#call("addFirstToken", token),
    rotate: (rotation) => this.#call("rotateToken", rotation),
    revokeByHash: (hash) => this.#call("withdrawToken", hash),
    revoke: (name, revokedAt) => this.#call("revokeToken", name, revokedAt),
    recordUses: (uses) => this.#call("recordTokenUses", uses),
    list: () => this.#call("listTokens"),
    readActive: (now) => this.#call("readActiveTokens", now),
    readChanges: (since) => this.#call("readTokenChanges", since),
    find: (hashes) => this.#call("findTokens", hashes),
    removeEnded: (removal) => this.#call("removeEndedTokens", removal),
  };
  /** On the thread that commits: creates wait in the queue while an index is made, and none fails for a lock. */
  readonly indexes: PlantIndexes = {
    states: () => this.#call("indexStates"),
    create: (name) => this.#call("createIndex", name),
    drop: (name) => this.#call("dropIndex", name),
  };

  readonly #worker = new Worker(new URL("./commit-worker.ts", import.meta.url).href);
  #failure: Error | undefined;
  readonly #pending: PromiseWithResolvers<unknown>[] = [];

  readonly #path: string;

  private constructor(path: string, observer: StoreObserver) {
    this.#path = path;
    this.#worker.onmessage = ({ data }: MessageEvent<ThreadReply>) => {
      if (data.kind === "unavailable") observer.unavailable(data.reason);
      else if (data.kind === "diskFailed") this.#fail(new DiskFailureError(data.message), observer);
      else if (data.kind === "result") this.#pending.shift()?.resolve(data.result);
      else
        this.#pending
          .shift()
          ?.reject(data.isOperatorError ? new OperatorError(data.message) : new Error(data.message));
    };
    this.#worker.onerror = ({ message }) => {
      this.#fail(new Error(`The SQLite thread failed: ${message.replace(/\s+/g, " ")}`), observer);
    };
  }

  /** Opens a store file, see openDatabase. */
  static async open(path: string, mode: OpenMode, observer: StoreObserver): Promise<SqliteThread> {
    const thread = new SqliteThread(path, observer);
    try {
      await thread.#call("open", path, mode);
    } catch (error) {
      thread.#worker.terminate();
      throw error;
    }
    return thread;
  }

  async create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    try {
      return decodeOutcomes(await this.#call("create", encodeBatch(batch)));
    } catch (error) {
      // The server ends; whoever still gets an answer must know that the plant may not be stored.
      if (error instanceof DiskFailureError) return batch.map(() => "unavailable");
      throw error;
    }
  }

  async bytesOnDisk(): Promise<number> {
    // Asked of the file system, as the thread may be in a commit.
    return bytesOnDisk(this.#path);
  }

  assertWritable(): Promise<void> {
    return this.#call("assertWritable");
  }

  openReader(): Promise<SqliteReader> {
    return SqliteReader.open(this.#path);
  }

  async close(): Promise<void> {
    await this.#call("close");
    // Not before the file is closed: terminating a thread that holds SQLite has crashed Bun.
    this.#worker.terminate();
  }

  /** A thread that has failed took its answers along: nobody may wait for them. */
  #fail(error: Error, observer: StoreObserver): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    for (const { reject } of this.#pending.splice(0)) reject(error);
    observer.failed(error);
  }

  #call<Name extends CallName>(
    call: Name,
    ...args: Parameters<ThreadCalls[Name]>
  ): Promise<ReturnType<ThreadCalls[Name]>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const pending = Promise.withResolvers<unknown>();
    this.#pending.push(pending);
    this.#worker.postMessage({ call, args });
    return pending.promise as Promise<ReturnType<ThreadCalls[Name]>>;
  }
}
