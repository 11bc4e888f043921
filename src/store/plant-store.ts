// What a storage engine does for the rest of the house. An engine is a folder beside this file.

import { type NewPlant, type Plant, plantsEqual } from "../contract/plant.ts";
import type { PlantIndexes, PlantReader } from "./plant-reader.ts";
import type { TokenStore } from "./token-store.ts";

/**
 * What became of one plant of a batch:
 * - `created`: it is on stable storage now.
 * - `unchanged`: the very same plant was there already, on stable storage; nothing was written.
 * - `conflict`: its id holds a different plant, which is untouched.
 * - `unavailable`: the engine could not commit it (disk full, locked, unreachable); it is not stored, or a retry
 *   will find it `unchanged`.
 */
export type Outcome = "created" | "unchanged" | "conflict" | "unavailable";

/** What becomes of a plant whose id is stored already. */
export function compareWithStored(stored: Plant, plant: Plant): "unchanged" | "conflict" {
  return plantsEqual(stored, plant) ? "unchanged" : "conflict";
}

/**
 * `create` makes the store, or brings its schema up to date, where need be; `existing` makes nothing; `writable` makes
 * nothing either, and refuses what cannot be written.
 */
export type OpenMode = "create" | "writable" | "existing";

/** A store that is open for creating plants. */
export interface PlantStore {
  /** The engine's name, for operators. */
  readonly engine: string;

  /** How many batches it commits at a time. */
  readonly batchesInFlightMax: number;

  /**
   * Commits a batch, and resolves once all of it is on stable storage. The outcomes are in the batch's order, and
   * so is the judging: of two plants with one id, the first counts. Rejects only on a fault of the program.
   */
  create(batch: readonly NewPlant[]): Promise<Outcome[]>;

  /**
   * What it takes of the disk, with its indexes; on SQLite with its log too. Cheap, as it counts nothing. Undefined where
   * the engine does not tell; rejects if the store cannot be reached.
   */
  bytesOnDisk(): Promise<number | undefined>;

  /** Commits something that changes nothing; rejects with the reason if the store cannot commit now. */
  assertWritable(): Promise<void>;

  /** The tokens, which live where the plants live. */
  readonly tokens: TokenStore;

  /** The indexes that searching can use. */
  readonly indexes: PlantIndexes;

  /** Opens a way to read plants that creates never wait for. To be closed before the store. */
  openReader(): Promise<PlantReader>;

  /** Releases everything. Nothing may be called afterwards, and nothing may be under way. */
  close(): Promise<void>;
}

/** Which plants are read; all of them where nothing is said. */
export interface ExportFilter {
  /** Only plants with exactly this tag. */
  readonly tag?: string | undefined;
  /** Only plants with an id greater than this. */
  readonly sinceId?: bigint | undefined;
}

/** A plant as it is read out in masses: its id is whatever the engine has, and as text its exact digits. */
export interface StoredPlant extends Plant {
  readonly id: bigint | string;
}

/** The size of a store. */
export interface StoreSize {
  readonly plants: number;
  /** See bytesOnDisk. */
  readonly bytes: number | undefined;
  readonly schemaVersion: number;
}

/** A store that an operator can read from as well. Reading never waits for creating. */
export interface ReadablePlantStore extends PlantStore {
  /** Where it is, for operators: a path, or hosts and a database. */
  readonly location: string;

  /** Whether there was no store before it was opened. */
  readonly wasCreated: boolean;

  /** The plant with this id, if there is one. */
  get(id: bigint): Promise<NewPlant | undefined>;

  /**
   * The plants of a selection, ordered by id, from one consistent snapshot. They come some hundreds at a time, as
   * one by one each would cost a turn of the event loop; memory does not grow with their number.
   */
  export(selection: ExportFilter): AsyncIterable<readonly StoredPlant[]>;

  /** How many plants a selection has. Reads all of them: some 100 ms for a million. */
  count(selection: ExportFilter): Promise<number>;

  /** How large it is; counts the plants. */
  size(): Promise<StoreSize>;
}

/** Hears the engine's word for why it could not commit. */
export type OnUnavailable = (reason: string) => void;

/** A wait for a store that is away. */
export interface StoreWait {
  /** Called once it lasts longer than a moment: what is waited for, why, and for how long at the most; no password in it. */
  readonly report?: (waitingFor: string) => void;
  /**
   * Once it is aborted no database that is away is waited for: the opening of a store rejects with an OperatorError, and an
   * open store tries nothing again.
   */
  readonly signal?: AbortSignal;
}

/** What a server must hear of its engine beside the outcomes. */
export interface StoreObserver {
  readonly unavailable: OnUnavailable;
  /** The engine is gone, and will answer no call any more: the server cannot go on. */
  readonly failed: (error: Error) => void;
}
