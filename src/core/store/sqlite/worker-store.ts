// The SQLite engine of a server: SqliteStore in a worker thread.

import type { EditOutcome, EditRun, PlantEdit } from "../plant-edit.ts";
import type { NewEntry, OpenMode, Outcome, PlantStore, StoreEvents } from "../plant-store.ts";
import type { SqlAccess, SqlConnection } from "../sql-connection.ts";
import { type TokenStore, tokenStoreMethods } from "../token-store.ts";
import { CheckpointSignals } from "./checkpoint-signals.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { CommitWorker } from "./commit-worker.ts";
import { DiskFailureError } from "./errors.ts";
import { bytesOnDisk, walBytes } from "./files.ts";
import { BatchSender } from "./shared-batch.ts";
import { openReadConnection, SqliteSqlConnection } from "./sql-connection.ts";
import { toError, WorkerClient } from "./worker-rpc.ts";

/** Keeps the worker busy: the next call is already queued when one finishes. */
const callsInFlightMax = 16;

export class SqliteWorkerStore implements PlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly tokens: TokenStore;
  readonly #path: string;
  readonly #worker: WorkerClient<CommitWorker>;
  readonly #batches = new BatchSender();
  readonly #signals = new CheckpointSignals();
  #checkpointer: Checkpointer | undefined;

  private constructor(path: string, { onUnavailable, onFailed }: StoreEvents) {
    this.#path = path;
    this.#worker = new WorkerClient<CommitWorker>(new URL("./commit-worker.ts", import.meta.url), {
      name: "commit",
      callsInFlightMax,
      onNotification: onUnavailable,
      onPosted: () => this.#batches.announceMessage(),
      onFailed: (error) => {
        this.#batches.fail(error);
        onFailed(error);
      },
    });
    this.tokens = this.#worker.proxy("tokens", tokenStoreMethods);
  }

  /** Opens a store file, see openDatabase. */
  static async open(path: string, mode: OpenMode, events: StoreEvents): Promise<SqliteWorkerStore> {
    const store = new SqliteWorkerStore(path, events);
    const signals = store.#signals;
    try {
      await store.#worker.call("store", "open", path, mode, store.#batches.buffer, signals.memory);
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

  async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    try {
      if (!this.#batches.accepts(batch))
        return await this.#worker.call(
          "store",
          "create",
          batch.map(({ plant, creator }) => ({ plant, creator })),
        );
      return await this.#batches.send(batch, (failure) => toError(JSON.parse(failure)));
    } catch (error) {
      if (!(error instanceof DiskFailureError)) throw error;
      this.#worker.fail(error);
      // The server is about to exit; its last responses must say that the plant may not be stored.
      return batch.map(() => "unavailable");
    }
  }

  edit(edits: readonly PlantEdit[], run: EditRun): Promise<EditOutcome[]> {
    return this.#worker.call("store", "edit", edits, run);
  }

  async bytesOnDisk(): Promise<number> {
    // Read in this thread, as the worker may be in a commit.
    return bytesOnDisk(this.#path);
  }

  walBytes(): number | undefined {
    return walBytes(this.#path);
  }

  assertWritable(): Promise<void> {
    return this.#worker.call("store", "assertWritable");
  }

  async openSql(access: SqlAccess): Promise<SqlConnection> {
    return access === "read"
      ? openReadConnection(this.#path)
      : new SqliteSqlConnection((call) => this.#worker.call("store", "runSql", call));
  }

  async close(): Promise<void> {
    await this.#checkpointer?.stop();
    await this.#worker.call("store", "close");
    if (this.#signals.mayClose) this.#worker.terminate();
    else this.#worker.abandon();
    await this.#checkpointer?.close();
  }
}
