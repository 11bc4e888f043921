// The SQLite engine of a server: SqliteStore in a worker thread.

import type { EditOutcome, EditRun, PlantEdit } from "../plant-edit.ts";
import type { NewEntry, OpenMode, Outcome, PlantStore, StoreEvents } from "../plant-store.ts";
import type { SqlAccess, SqlConnection } from "../sql-connection.ts";
import { SqlTokens } from "../sql-tokens.ts";
import type { TokenStore } from "../token-store.ts";
import { CheckpointSignals } from "./checkpoint-signals.ts";
import type { CheckpointWorker } from "./checkpoint-worker.ts";
import type { CommitWorker } from "./commit-worker.ts";
import { DiskFailureError } from "./errors.ts";
import { bytesOnDisk, walBytes } from "./files.ts";
import { BatchSender } from "./shared-batch.ts";
import { openReadConnection, SqliteSqlConnection } from "./sql-connection.ts";
import { WorkerClient } from "./worker-rpc.ts";

export class SqliteWorkerStore implements PlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly tokens: TokenStore;
  readonly #path: string;
  readonly #worker: WorkerClient<CommitWorker>;
  readonly #batches = new BatchSender();
  readonly #signals = new CheckpointSignals(this.#batches.buffer);
  #checkpointWorker: WorkerClient<CheckpointWorker> | undefined;
  #checkpointsEnded: Promise<void> | undefined;

  private constructor(path: string, { onUnavailable, onFailed }: StoreEvents) {
    this.#path = path;
    this.#worker = new WorkerClient<CommitWorker>(new URL("./commit-worker.ts", import.meta.url), {
      name: "commit",
      onNotification: onUnavailable,
      onPosted: () => this.#batches.announceMessage(),
      onFailed: (error) => {
        this.#batches.fail(error);
        onFailed(error);
      },
    });
    this.tokens = this.#worker.proxy("tokens", SqlTokens.prototype);
  }

  /** Opens a store file, see openDatabase. */
  static async open(path: string, mode: OpenMode, events: StoreEvents): Promise<SqliteWorkerStore> {
    const store = new SqliteWorkerStore(path, events);
    const { buffer } = store.#batches;
    try {
      await store.#worker.call("store", "open", path, mode, buffer);
    } catch (error) {
      store.#worker.terminate();
      throw error;
    }
    const checkpointWorker = new WorkerClient<CheckpointWorker>(
      new URL("./checkpoint-worker.ts", import.meta.url),
      { name: "checkpoint", onNotification: events.onUnavailable },
    );
    try {
      await checkpointWorker.call("checkpoints", "open", path, buffer);
    } catch (error) {
      checkpointWorker.terminate();
      await store.close();
      throw error;
    }
    store.#checkpointWorker = checkpointWorker;
    // When this reports a failed fsync, the committing thread has it from the signals.
    store.#checkpointsEnded = checkpointWorker.call("checkpoints", "run").catch(events.onFailed);
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
      return await this.#batches.send(batch);
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
    this.#signals.stop();
    await this.#checkpointsEnded;
    await this.#worker.call("store", "close");
    if (!this.#signals.mayClose) {
      this.#worker.abandon();
      this.#checkpointWorker?.abandon();
      return;
    }
    this.#worker.terminate();
    // Closes its files, which no other thread may have open by then.
    await this.#checkpointWorker?.call("checkpoints", "close");
    this.#checkpointWorker?.terminate();
  }
}
