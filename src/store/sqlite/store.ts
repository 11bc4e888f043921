// Stores plants in a SQLite file, in the thread that opens it. Its promises are settled when they
// are returned: every call blocks until the disk has responded, so a server uses SqliteWorkerStore.

import type { Contract } from "../../contract/contract.ts";
import type { ContractChoice, FoundStore } from "../migration/migration.ts";
import type { NewEntry, OnUnavailable, OpenMode, Outcome, PlantStore } from "../plant-store.ts";
import { type ForgottenEdits, forgetWork } from "../shared/forgotten-edits.ts";
import type { ReadConnection } from "../shared/page.ts";
import { ContractChanged, type EditOutcome, editWork, type RecordedEdit } from "../shared/plant-edit.ts";
import { SqlTokens, type TokenStore } from "../shared/sql-tokens.ts";
import type { SqlWork } from "../shared/sql-work.ts";
import { type RecordedTransaction, wholeTransaction } from "../shared/transaction.ts";
import { shortenWal } from "./checkpoint.ts";
import type { CheckpointSignals } from "./checkpoint-signals.ts";
import { readContractNumber } from "./chosen-contract.ts";
import type { OpenDatabase } from "./connection.ts";
import { type DiskFailureError, diskFailure, isFailedFsync, recordDiskFailure } from "./disk-failure.ts";
import { type Database, lockWaitMs } from "./driver.ts";
import { readError } from "./errors.ts";
import { bytesOnDisk } from "./files.ts";
import { OpenFiles } from "./open-files.ts";
import { SqlitePlants } from "./plants.ts";
import { runWork } from "./sql-work.ts";
import { Transactions } from "./transactions.ts";

export class SqliteStore implements PlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly tokens: TokenStore;
  contract: Contract;
  readonly #path: string;
  readonly #database: Database;
  readonly #files: OpenFiles;
  readonly #transactions: Transactions;
  readonly #checkpointThread: CheckpointSignals | undefined;
  readonly #onUnavailable: OnUnavailable;
  #plants: SqlitePlants;
  #diskFailure: DiskFailureError | undefined;

  private constructor(
    path: string,
    { database, contract }: OpenDatabase,
    onUnavailable: OnUnavailable,
    checkpointThread: CheckpointSignals | undefined,
  ) {
    this.#path = path;
    this.#database = database;
    this.contract = contract;
    this.#checkpointThread = checkpointThread;
    this.#files = new OpenFiles(path);
    this.#transactions = new Transactions(database, lockWaitMs, () => {
      this.#files.assertIntact();
      shortenWal(database, checkpointThread);
    });
    this.#onUnavailable = onUnavailable;
    this.#plants = this.#openPlants(contract);
    const change = <Result>(work: () => SqlWork<Result>) =>
      this.#withIntactFiles(() => this.#transactions.change(work));
    const read = <Result>(work: () => SqlWork<Result>) =>
      this.#withIntactFiles(() => runWork(database, work()));
    this.tokens = new SqlTokens({ read, change, record: change });
  }

  /** Opens a store file, see openDatabase. After a DiskFailureError all calls reject with it. */
  static async open(
    path: string,
    mode: OpenMode,
    onUnavailable: OnUnavailable,
    choice: ContractChoice,
  ): Promise<SqliteStore> {
    // Loaded here, and others below: the commit thread starts without them.
    const { openDatabase } = await import("./connection.ts");
    return SqliteStore.use(path, await openDatabase(path, mode, choice), onUnavailable);
  }

  /** @param checkpointThread copies the WAL of a server; elsewhere commits do. */
  static use(
    path: string,
    opened: OpenDatabase,
    onUnavailable: OnUnavailable,
    checkpointThread?: CheckpointSignals,
  ): SqliteStore {
    try {
      return new SqliteStore(path, opened, onUnavailable, checkpointThread);
    } catch (error) {
      opened.database.close();
      throw error;
    }
  }

  create(batch: readonly NewEntry[], createdAt = Date.now()): Promise<Outcome[]> {
    return this.#checkingDisk(() => this.#plants.create(batch, createdAt));
  }

  edit(edits: readonly RecordedEdit[]): Promise<EditOutcome[]> {
    return this.#withIntactFiles(() =>
      this.#transactions.change(() => this.#current(editWork(this.contract, edits))),
    );
  }

  transact(transaction: RecordedTransaction): Promise<EditOutcome> {
    return this.#withIntactFiles(() =>
      this.#transactions.transact(() => this.#current(wholeTransaction(this.contract, transaction))),
    );
  }

  /** The store as it is, if it has another contract than the one with a number. */
  async findOther(number: number | undefined): Promise<FoundStore | undefined> {
    if (readContractNumber(this.#database) === number) return undefined;
    const { findStore } = await import("./migrations.ts");
    return findStore(this.#database, this.#path);
  }

  /** Takes over a contract that the store has. */
  useContract(contract: Contract): void {
    this.contract = contract;
    this.#plants = this.#openPlants(contract);
  }

  #openPlants({ collections }: Contract): SqlitePlants {
    return new SqlitePlants(this.#transactions, collections, this.#onUnavailable, () =>
      this.#assertContract(),
    );
  }

  /** Throws ContractChanged if the store has another contract; call it in a transaction. */
  #assertContract(): void {
    if (readContractNumber(this.#database) !== this.contract.number) throw new ContractChanged();
  }

  /** Runs work if the store has this contract, in the caller's transaction. */
  *#current<Result>(work: SqlWork<Result>): SqlWork<Result> {
    this.#assertContract();
    return yield* work;
  }

  forget(edits: ForgottenEdits): Promise<number> {
    return this.#withIntactFiles(() => this.#transactions.change(() => forgetWork(edits)));
  }

  async purge(): Promise<readonly string[]> {
    this.#files.assertIntact();
    const { emptyWal } = await import("./erase.ts");
    return await emptyWal(this.#database);
  }

  assertWritable(): Promise<void> {
    return this.#withIntactFiles(() => this.#plants.probe());
  }

  async bytesOnDisk(): Promise<number> {
    return bytesOnDisk(this.#path);
  }

  async openSql(): Promise<ReadConnection> {
    // The commit thread needs none of it.
    const { SqlReader } = await import("./sql-reader.ts");
    return SqlReader.open(this.#path, this.contract);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Returns false if the database has to stay open until the process ends. */
  async close(): Promise<boolean> {
    // Closing checkpoints the WAL and deletes it. After a failed fsync its pages may not be on the
    // disk; after a replacement the target is another file.
    const hasDiskFailed = this.#diskFailure !== undefined || this.#checkpointThread?.hasDiskFailed === true;
    if (hasDiskFailed) return false;
    if (this.#files.findFault() !== undefined) {
      this.#files.setWalAside();
      return false;
    }
    this.#database.close();
    return true;
  }

  /** Rejects with an OperatorError if the open files were removed or replaced. */
  #withIntactFiles<T>(call: () => T): Promise<T> {
    return this.#checkingDisk(() => {
      this.#files.assertIntact();
      try {
        return call();
      } catch (error) {
        throw readError(error);
      }
    });
  }

  async #checkingDisk<T>(call: () => T): Promise<T> {
    this.#assertDiskWorks();
    try {
      const result = call();
      this.#checkpointThread?.committed();
      this.#assertDiskWorks();
      return result;
    } catch (error) {
      if (!isFailedFsync(error)) throw error;
      this.#checkpointThread?.failDisk();
      this.#diskFailure = recordDiskFailure(this.#path, error);
      throw this.#diskFailure;
    }
  }

  /**
   * Throws after an fsync has failed in either thread. Called before and after a commit. If the
   * other thread's signal comes too late for this commit, this commit's own fsync has still
   * succeeded: Linux reports an error to every descriptor that was open (`errseq_t`, since 4.13).
   */
  #assertDiskWorks(): void {
    if (this.#diskFailure !== undefined) throw this.#diskFailure;
    if (!this.#checkpointThread?.hasDiskFailed) return;
    // The other thread reports its reason itself.
    throw diskFailure(this.#path, "an fsync of the checkpoint thread failed");
  }
}
