// Defines what a storage engine does. Each engine is a folder next to this file.

import { OperatorError } from "../base/operator-error.ts";
import { type Collection, type Contract, isSameCreate, type Plant } from "../contract/contract.ts";
import type { ContractChoice } from "./migration/migration.ts";
import type { ForgottenEdits } from "./shared/forgotten-edits.ts";
import type { PlantReads, ReadConnection } from "./shared/page.ts";
import type { EditOutcome, RecordedEdit } from "./shared/plant-edit.ts";
import type { TokenStore } from "./shared/sql-tokens.ts";
import type { RecordedTransaction } from "./shared/transaction.ts";

/**
 * The result of one plant of a batch:
 * - `created`: it is on stable storage now.
 * - `unchanged`: an equal plant was already on stable storage; nothing was written.
 * - `conflict`: a different plant is stored under its id, or has its key; nothing was written.
 * - `taken`: the id that was chosen for it is that of another plant; nothing was written.
 * - `unavailable`: the engine could not commit it (disk full, locked, unreachable). Either it is
 *   not stored, or a retry will find it `unchanged`.
 * - `tooLarge`: the engine has no room for a row of its size; nothing was written.
 */
export type Outcome = "created" | "unchanged" | "conflict" | "taken" | "unavailable" | "tooLarge";

export interface NewEntry {
  /** One of the store's contract. */
  readonly collection: Collection;
  readonly plant: Plant;
  /** The key of the token or the provider's subject that creates it; null if unknown. */
  readonly creator: number | null;
  /**
   * Makes two creates the same: the id, where this is undefined; nothing, where it is null; or
   * else this text of keyLength characters. Null or a text for a plant whose id was chosen, of a
   * collection that keeps keys; such an id may be `taken`, also by an equal plant.
   */
  readonly key?: string | null | undefined;
  /**
   * The time of creation, if it is not that of the batch. Only an import by a command has it: the
   * store of a server does not read it.
   */
  readonly createdAt?: number;
}

/** Entries of plants with one creator, such as those of an import. */
export function toEntries(
  collection: Collection,
  plants: readonly Plant[],
  creator: number | null = null,
): NewEntry[] {
  return plants.map((plant) => ({ collection, plant, creator }));
}

/** The outcome of a plant whose id is already stored. */
export function compareWithStored(
  collection: Collection,
  stored: Plant,
  plant: Plant,
): "unchanged" | "conflict" {
  return isSameCreate(collection, stored.values, plant.values) ? "unchanged" : "conflict";
}

/**
 * `create` creates the store or upgrades its schema if necessary; `existing` and `writable` reject
 * then, and `writable` also rejects a store that cannot be written.
 */
export type OpenMode = "create" | "writable" | "existing";

/**
 * A store that is open for creating plants. Its disposal releases all resources: no call may be in
 * flight, and none may follow.
 */
export interface PlantStore extends AsyncDisposable {
  /** The engine's name, for operators. */
  readonly engine: string;

  /** The contract of the stored plants. */
  readonly contract: Contract;

  /**
   * Takes over the contract that the store has, if another process has given it another one, and
   * resolves with it. From then on what was checked by the earlier one is not written: creates are
   * `unavailable`, and edits reject. Resolves with undefined also if the store cannot be reached, and
   * rejects with an OperatorError if this program cannot read that contract. Only the stores of
   * servers have it.
   */
  takeOverContract?(): Promise<Contract | undefined>;

  /** How many batches a group commit keeps in flight. */
  readonly batchesInFlightMax: number;

  /**
   * Commits a batch, and resolves once all of it is on stable storage. The outcomes are in the
   * order of the batch: of two plants of a collection with one id the first is created, and the second compared
   * with it. Rejects only on an internal error. May be called while other batches are in flight,
   * as the console's import does beside those of the group commit.
   *
   * @param createdAt the time of creation that is stored, in milliseconds since the epoch; now by
   *   default.
   */
  create(batch: readonly NewEntry[], createdAt?: number): Promise<Outcome[]>;

  /**
   * Edits at most editsMax plants, between two batches, and records each edit that it makes: all in
   * one transaction. The outcomes are in the order of the edits. Rejects with an OperatorError if
   * the store cannot be changed now, which is PlantLocked if another transaction holds one of the
   * plants; if the connection is lost, the edits may have been made.
   */
  edit(edits: readonly RecordedEdit[]): Promise<EditOutcome[]>;

  /**
   * Makes the edits of a transaction, with their rows in the history, if all that it has read is as it
   * was found; otherwise it is `changed`, and nothing is made. Rejects as `edit` does.
   */
  transact(transaction: RecordedTransaction): Promise<EditOutcome>;

  /**
   * Makes edits of several callers. One that cannot be made, as another transaction holds its plant or
   * the row is refused, has an error, and the others are made. Absent where only all of them can fail.
   */
  editEach?(edits: readonly RecordedEdit[]): Promise<(EditOutcome | OperatorError)[]>;

  /** Erases some edits from the history, in one transaction, and resolves with how many: 0 if none is left. */
  forget(edits: ForgottenEdits): Promise<number>;

  /**
   * Removes from the files of the store what was erased, as far as they can be written now. Resolves
   * with a sentence for each place that still has it.
   */
  purge(): Promise<readonly string[]>;

  /**
   * The size of the store on disk with its indexes and WAL, without counting plants. Rejects with
   * an OperatorError if it cannot be reached.
   */
  bytesOnDisk(): Promise<number>;

  /** The size of SQLite's write-ahead log, which bytesOnDisk contains. */
  walBytes?(): number | undefined;

  /** Commits what a create writes, and leaves no plant; rejects with the reason if it cannot. */
  assertWritable(): Promise<void>;

  readonly tokens: TokenStore;

  /** Opens a connection for reading by SQL. Close it before the store. */
  openSql(): Promise<ReadConnection>;

  /** Opens one for many short reads of single plants; absent where that of openSql is as fast. */
  openPlantReads?(): Promise<PlantReads>;
}

/** No plant was edited, as another program's transaction holds one of them. */
export class PlantLocked extends OperatorError {}

/** No plant was edited, as the engine has no room for a row as large as one of them would become. */
export class PlantTooLarge extends OperatorError {}

/** Called with the reason whenever the engine could not commit. */
export type OnUnavailable = (reason: string) => void;

/** How to wait for a store that cannot be reached. */
export interface StoreWait {
  /** Called once if the wait exceeds 800 ms, with the hosts, the reason and the time limit. */
  readonly report?: (waitingFor: string) => void;
  /**
   * Aborting it ends every wait: opening a store rejects with an OperatorError, and an open store
   * retries nothing.
   */
  readonly signal?: AbortSignal | undefined;
}

export interface OpenOptions extends StoreWait, ContractChoice {}

/** Reports of an engine to its server, apart from outcomes. */
export interface StoreEvents {
  readonly onUnavailable: OnUnavailable;
  /** Called with the reason whenever a task failed that creates do not wait for. */
  readonly onTaskFailed: (reason: string) => void;
  /** The engine can serve no more calls: the server has to exit. */
  readonly onFailed: (error: Error) => void;
}
