// The SQLite engine of a server: SqliteStore in a worker thread of its own.

import type { NewPlant } from "../../contract/plant.ts";
import { type PlantIndexes, plantIndexMethods } from "../plant-reader.ts";
import type { OpenMode, Outcome, PlantStore, StoreEvents } from "../plant-store.ts";
import { type TokenStore, tokenStoreMethods } from "../token-store.ts";
import { CheckpointSignals } from "./checkpoint-signals.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { CommitWorker, Unavailable } from "./commit-worker.ts";
import { DiskFailureError } from "./errors.ts";
import { bytesOnDisk, walBytes } from "./files.ts";
import { SqliteReader } from "./reader.ts";
import { decodeOutcomes, encodeBatch, WorkerClient } from "./worker-rpc.ts";

/** Enough that the worker finds its next call waiting when it has finished one. */
const callsInFlightMax = 16;

export class SqliteWorkerStore implements PlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly tokens: TokenStore;
  /** In the thread that commits: creates wait in the queue while an index is built, and none fails for a lock. */
  readonly indexes: PlantIndexes;
  readonly #path: string;
  readonly #worker: WorkerClient<CommitWorker, Unavailable>;
  #checkpointer: Checkpointer | undefined;

  private constructor(path: string, { onUnavailable, onFailed }: StoreEvents) {
    this.#path = path;
    this.#worker = new WorkerClient<CommitWorker, Unavailable>(
      new URL("./commit-worker.ts", import.meta.url),
      {
        callsInFlightMax,
        onNotification: onUnavailable,
        onFailed,
      },
    );
    this.tokens = this.#worker.proxy("tokens", tokenStoreMethods);
    this.indexes = this.#worker.proxy("indexes", plantIndexMethods);
  }

  /** Opens a store file, see openDatabase. */
  static async open(path: string, mode: OpenMode, events: StoreEvents): Promise<SqliteWorkerStore> {
    const store = new SqliteWorkerStore(path, events);
    const signals = new CheckpointSignals();
    try {
      await store.#worker.call("store", "open", path, mode, signals.memory);
    } catch (error) {
      store.#worker.terminate();
      throw error;
    }
    try {
      store.#checkpointer = await Checkpointer.start(path, signals, events);
    } catch (error) {
      await store.close();
      throw error;
    }
    return store;
  }

  async create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    try {
      return decodeOutcomes(await this.#worker.call("store", "create", encodeBatch(batch)));
    } catch (error) {
      // The server is about to exit; responses that are still sent must say that the plant may not be stored.
      if (error instanceof DiskFailureError) return batch.map(() => "unavailable");
      throw error;
    }
  }

  async bytesOnDisk(): Promise<number> {
    // Read in this thread, as the worker may be in a commit.
    return bytesOnDisk(this.#path);
  }

  walBytes(): number {
    return walBytes(this.#path);
  }

  assertWritable(): Promise<void> {
    return this.#worker.call("store", "assertWritable");
  }

  openReader(): Promise<SqliteReader> {
    return SqliteReader.open(this.#path);
  }

  async close(): Promise<void> {
    await this.#checkpointer?.stop();
    await this.#worker.call("store", "close");
    this.#worker.terminate();
    await this.#checkpointer?.close();
  }
}
