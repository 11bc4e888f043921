// The SQLite engine in the thread that opens it. Its methods are promises by their type alone: each blocks until
// the disk has answered, so a server uses SqliteThread.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { NewPlant } from "../../contract/plant.ts";
import { OperatorError } from "../../operator-error.ts";
import type { PlantIndexes } from "../plant-reader.ts";
import type {
  ExportFilter,
  OnUnavailable,
  OpenMode,
  Outcome,
  ReadablePlantStore,
  StoreSize,
} from "../plant-store.ts";
import type { TokenStore } from "../token-store.ts";
import { openDatabase } from "./database.ts";
import { DiskFailureError, isFailedFsync, writeFailureMarker } from "./disk-failure.ts";
import type { Database } from "./driver.ts";
import { countPlants, exportPlants } from "./export.ts";
import { OpenFiles } from "./file-identity.ts";
import { bytesOnDisk } from "./files.ts";
import { SqliteIndexes } from "./indexes.ts";
import { probeCommit, schemaVersion } from "./migrations.ts";
import { SqlitePlants } from "./plants.ts";
import { SqliteReader } from "./reader.ts";
import { SqliteTokens } from "./tokens.ts";

export class SqliteStore implements ReadablePlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly location: string;
  readonly wasCreated: boolean;
  readonly tokens: TokenStore = {
    add: (token) => this.#change(() => this.#tokens.add(token)),
    addFirst: (token) => this.#change(() => this.#tokens.addFirst(token)),
    rotate: (rotation) => this.#change(() => this.#tokens.rotate(rotation)),
    revokeByHash: (hash) => this.#change(() => this.#tokens.revokeByHash(hash)),
    revoke: (name, revokedAt) => this.#change(() => this.#tokens.revoke(name, revokedAt)),
    recordUses: (uses) => this.#change(() => this.#tokens.recordUses(uses)),
    list: () => this.#inPlace(() => this.#tokens.list()),
    readActive: (now) => this.#inPlace(() => this.#tokens.readActive(now)),
    readChanges: (since) => this.#inPlace(() => this.#tokens.readChanges(since)),
    find: (hashes) => this.#inPlace(() => this.#tokens.find(hashes)),
    removeEnded: (removal) => this.#change(() => this.#tokens.removeEnded(removal)),
  };
  readonly indexes: PlantIndexes = {
    states: () => this.#indexes.states(),
    create: (name) => this.#change(() => this.#indexes.create(name)),
    drop: (name) => this.#change(() => this.#indexes.drop(name)),
  };
  readonly #path: string;
  readonly #observe: OnUnavailable;
  readonly #database: Database;
  readonly #files: OpenFiles;
  readonly #plants: SqlitePlants;
  readonly #tokens: SqliteTokens;
  readonly #indexes: SqliteIndexes;
  #diskHasFailed = false;

  /** Opens a store file, see openDatabase. Once a call has rejected with DiskFailureError, every other one does. */
  constructor(path: string, mode: OpenMode, observe: OnUnavailable) {
    this.#path = path;
    this.location = resolve(path);
    this.wasCreated = !existsSync(path);
    this.#observe = observe;
    this.#database = openDatabase(path, mode);
    this.#files = new OpenFiles(path);
    this.#plants = new SqlitePlants(this.#database, observe);
    this.#tokens = new SqliteTokens(this.#database);
    this.#indexes = new SqliteIndexes(this.#database);
  }

  create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    return this.#onDisk(async () => {
      const misplaced = this.#files.misplaced();
      if (misplaced === undefined) return this.#plants.create(batch);
      this.#observe(removed(misplaced));
      return batch.map(() => "unavailable");
    });
  }

  assertWritable(): Promise<void> {
    // A commit that leaves all as it was, and that the disk must take all the same.
    return this.#change(async () => probeCommit(this.#database));
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    return this.#plants.get(id);
  }

  async *export(selection: ExportFilter): AsyncGenerator<NewPlant[]> {
    yield* exportPlants(this.#database, selection);
  }

  async count(selection: ExportFilter): Promise<number> {
    return countPlants(this.#database, selection);
  }

  async bytesOnDisk(): Promise<number> {
    return bytesOnDisk(this.#path);
  }

  async size(): Promise<StoreSize> {
    return {
      plants: countPlants(this.#database, {}),
      bytes: bytesOnDisk(this.#path),
      schemaVersion: schemaVersion(this.#database, this.#path),
    };
  }

  openReader(): Promise<SqliteReader> {
    return SqliteReader.open(this.#path);
  }

  async close(): Promise<void> {
    // Closing would copy the log into the database file, from pages that may be on no disk.
    if (this.#diskHasFailed) return;
    this.#plants.finalize();
    this.#database.close();
  }

  /** Rejects if what the call reads or writes would be in files that nobody else can find. */
  #inPlace<T>(call: () => Promise<T>): Promise<T> {
    return this.#onDisk(() => {
      const misplaced = this.#files.misplaced();
      if (misplaced !== undefined) throw new OperatorError(removed(misplaced));
      return call();
    });
  }

  /** Where no plant is created it is these that the log grows by: a probe of readiness alone is a page. */
  #change<T>(call: () => Promise<T>): Promise<T> {
    return this.#inPlace(() => {
      this.#plants.checkpointIfLong();
      return call();
    });
  }

  async #onDisk<T>(call: () => Promise<T>): Promise<T> {
    if (this.#diskHasFailed) throw diskFailed(this.#path, "an fsync failed before");
    try {
      return await call();
    } catch (error) {
      if (!isFailedFsync(error)) throw error;
      this.#diskHasFailed = true;
      const reason = `${error.message} (${error.code})`;
      writeFailureMarker(this.#path, reason);
      throw diskFailed(this.#path, reason);
    }
  }
}

function removed(path: string): string {
  return `${path} was removed or replaced while it was open; put it back, or start again with the file that is there`;
}

function diskFailed(path: string, reason: string): DiskFailureError {
  return new DiskFailureError(
    `the disk of ${path} failed: ${reason}; see to it, and start again: the store is recovered then`,
  );
}
