// Stores the plants of a server in a SQLite file: SqliteStore in a worker thread.

import { closeSync, openSync } from "node:fs";
import type { Contract, ContractCompiler } from "../../contract/contract.ts";
import { sentContract } from "../../contract/sent-contract.ts";
import { foundContract } from "../migration/migration.ts";
import type { NewEntry, OpenMode, OpenOptions, Outcome, PlantStore, StoreEvents } from "../plant-store.ts";
import type { PlantReads, ReadConnection } from "../shared/page.ts";
import { ContractChanged, type EditOutcome, type RecordedEdit } from "../shared/plant-edit.ts";
import type { TokenStore } from "../shared/sql-tokens.ts";
import { CheckpointSignals } from "./checkpoint-signals.ts";
import type { openCheckpoints } from "./checkpoint-worker.ts";
import type { openStore } from "./commit-worker.ts";
import { openDatabase } from "./connection.ts";
import { DiskFailureError } from "./disk-failure.ts";
import { bytesOnDisk, walBytes } from "./files.ts";
import { editsText, readOutcomes } from "./sent-edits.ts";
import { BatchSender, editsAt } from "./shared-batch.ts";
import { codeUnitsMax, SharedText, TextSender } from "./shared-text.ts";
import { WorkerClient } from "./worker-rpc.ts";

export class SqliteWorkerStore implements PlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly tokens: TokenStore;
  // The commit thread does these.
  readonly transact: PlantStore["transact"];
  readonly forget: PlantStore["forget"];
  readonly purge: PlantStore["purge"];
  readonly assertWritable: PlantStore["assertWritable"];
  readonly #path: string;
  contract!: Contract;
  readonly #commitThread: WorkerClient<typeof openStore>;
  readonly #batches = new BatchSender();
  readonly #edits = new TextSender(new SharedText(this.#batches.buffer, editsAt), () => this.#batches.wake());
  readonly #editByMessage: PlantStore["edit"];
  readonly #signals = new CheckpointSignals(this.#batches.buffer);
  #checkpointThread: WorkerClient<typeof openCheckpoints> | undefined;
  /** The database file, which the checkpoint thread fsyncs. */
  #descriptor: number | undefined;
  #checkpointsEnded: Promise<void> | undefined;
  readonly #events: StoreEvents;
  readonly #compiler: ContractCompiler;
  /** The batch that was sent last. */
  #sent: Promise<unknown> = Promise.resolve();
  /** Whether the commit thread is about to get another contract. */
  #isTakingOver = false;

  private constructor(path: string, events: StoreEvents, compiler: ContractCompiler) {
    this.#path = path;
    this.#compiler = compiler;
    this.#events = events;
    // Without an extension: what is built has JavaScript.
    this.#commitThread = new WorkerClient(new URL("./commit-worker", import.meta.url), {
      name: "commit",
      onNotification: events.onUnavailable,
      onPosted: () => this.#batches.announceMessage(),
      onFailed: (error) => {
        this.#batches.fail(error);
        this.#edits.fail(error);
        events.onFailed(error);
      },
    });
    const { tokens, store } = this.#commitThread.served;
    this.tokens = tokens;
    this.#editByMessage = store.edit;
    this.transact = store.transact;
    this.forget = store.forget;
    this.purge = store.purge;
    this.assertWritable = store.assertWritable;
  }

  /** Opens a store file, see openDatabase: this thread chooses the contract, and the others get it. */
  static async open(
    path: string,
    mode: OpenMode,
    events: StoreEvents,
    choice: OpenOptions,
  ): Promise<SqliteWorkerStore> {
    // The commit thread starts meanwhile.
    const store = new SqliteWorkerStore(path, events, choice.compiler);
    try {
      const { database, contract } = await openDatabase(path, mode, choice);
      store.contract = contract;
      try {
        await store.#commitThread.open(path, sentContract(contract), store.#batches.buffer);
      } finally {
        // Not before: the last connection to a file that is closed deletes its WAL.
        database.close();
      }
    } catch (error) {
      store.#commitThread.end(true);
      throw error;
    }
    store.#batches.useCollections(store.contract.collections);
    // A start does not wait for it: 0.94 of its time.
    store.#checkpointsEnded = store.#runCheckpoints().catch(events.onFailed);
    return store;
  }

  /** Resolves when the signals end it, or rejects. */
  async #runCheckpoints(): Promise<void> {
    this.#descriptor = openSync(this.#path, "r");
    const thread = new WorkerClient<typeof openCheckpoints>(new URL("./checkpoint-worker", import.meta.url), {
      name: "checkpoint",
      onNotification: this.#events.onTaskFailed,
    });
    this.#checkpointThread = thread;
    await thread.open(this.#path, this.#batches.buffer, this.#descriptor);
    // When this reports a failed fsync, the committing thread has it from the signals.
    await thread.served.checkpoints.run();
  }

  async create(batch: readonly NewEntry[], createdAt = Date.now()): Promise<Outcome[]> {
    const number = batch[0]?.collection.contractNumber;
    if (number !== undefined && number !== this.contract.number) {
      this.#events.onUnavailable(new ContractChanged().message);
      return batch.map(() => "unavailable");
    }
    try {
      if (this.#isTakingOver || !this.#batches.accepts(batch))
        return await this.#commitThread.served.plants.create(
          batch.map(({ collection: { table }, plant, creator, key }) => ({ table, plant, creator, key })),
          createdAt,
        );
      const sent = this.#batches.send(batch, createdAt);
      this.#sent = sent;
      return await sent;
    } catch (error) {
      if (!(error instanceof DiskFailureError)) throw error;
      this.#commitThread.fail(error);
      // The server is about to exit; its last responses must not say whether a plant was stored.
      return batch.map(() => "unavailable");
    }
  }

  async edit(edits: readonly RecordedEdit[]): Promise<EditOutcome[]> {
    const text = editsText(this.contract, edits, codeUnitsMax);
    if (text === undefined || !this.#edits.accepts(text)) return this.#editByMessage(edits);
    try {
      return readOutcomes(await this.#edits.send(text));
    } catch (error) {
      if (error instanceof DiskFailureError) this.#commitThread.fail(error);
      throw error;
    }
  }

  async takeOverContract(): Promise<Contract | undefined> {
    // Creates report a file that cannot be read.
    const found = await this.#commitThread.served.contracts
      .findOther(this.contract.number)
      .catch(() => undefined);
    if (found === undefined) return undefined;
    const contract = await foundContract(found, this.#compiler);
    // A batch in the memory has the collections of the earlier one, by their places.
    this.contract = contract;
    this.#isTakingOver = true;
    await this.#sent.catch(() => undefined);
    await this.#commitThread.served.contracts.use(sentContract(contract));
    this.#batches.useCollections(contract.collections);
    this.#isTakingOver = false;
    return contract;
  }

  async bytesOnDisk(): Promise<number> {
    // Read in this thread, as the worker may be in a commit.
    return bytesOnDisk(this.#path);
  }

  walBytes(): number | undefined {
    return walBytes(this.#path);
  }

  openSql(): Promise<ReadConnection> {
    return this.#openSql(this.contract);
  }

  async #openSql(contract: Contract): Promise<ReadConnection> {
    // A create needs none of it.
    const { openReadConnection } = await import("./sql-connection.ts");
    return openReadConnection(this.#path, contract, this.#events.onFailed);
  }

  async openPlantReads(): Promise<PlantReads> {
    const [{ nearReads }, { SqlReader }] = await Promise.all([
      import("./near-reads.ts"),
      import("./sql-reader.ts"),
    ]);
    const { contract } = this;
    const near = SqlReader.open(this.#path, contract);
    return nearReads(near, () => this.#openSql(contract), performance.now.bind(performance));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signals.stop();
    await this.#checkpointsEnded;
    const closing = this.#commitThread.served.thread.close();
    const isClosed = await closing.catch(() => false);
    const ended = new Error("The SQLite worker has ended");
    this.#commitThread.end(isClosed, ended);
    // It reads the memory no more.
    this.#batches.fail(ended);
    this.#edits.fail(ended);
    this.#checkpointThread?.end(isClosed);
    // Last: with the file the process loses every POSIX lock that it holds on it.
    if (isClosed && this.#descriptor !== undefined) closeSync(this.#descriptor);
    await closing;
  }
}
