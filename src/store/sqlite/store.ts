// The SQLite engine in the thread that opens it. Its promises are settled when they are returned: every call blocks
// until the disk has responded, so a server uses SqliteWorkerStore.

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
import { type TokenStore, tokenStoreMethods } from "../token-store.ts";
import { openDatabase } from "./connection.ts";
import type { Database } from "./driver.ts";
import { DiskFailureError, isFailedFsync, writeFailureMarker } from "./errors.ts";
import { bytesOnDisk, OpenFiles } from "./files.ts";
import { SqliteIndexes } from "./indexes.ts";
import { probeCommit, schemaVersion } from "./migrations.ts";
import { countPlants, exportPlants, SqlitePlants } from "./plants.ts";
import { SqliteReader } from "./reader.ts";
import { SqliteTokens } from "./tokens.ts";

export class SqliteStore implements ReadablePlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly location: string;
  readonly wasCreated: boolean;
  readonly tokens: TokenStore;
  readonly indexes: PlantIndexes = {
    states: () => this.#indexes.states(),
    create: (name) => this.#write(() => this.#indexes.create(name)),
    drop: (name) => this.#write(() => this.#indexes.drop(name)),
  };
  readonly #path: string;
  readonly #onUnavailable: OnUnavailable;
  readonly #database: Database;
  readonly #files: OpenFiles;
  readonly #plants: SqlitePlants;
  readonly #indexes: SqliteIndexes;
  #hasDiskFailed = false;

  /** Opens a store file, see openDatabase. After one call has rejected with DiskFailureError, all others do. */
  constructor(path: string, mode: OpenMode, onUnavailable: OnUnavailable) {
    this.#path = path;
    this.location = resolve(path);
    this.wasCreated = !existsSync(path);
    this.#onUnavailable = onUnavailable;
    this.#database = openDatabase(path, mode);
    this.#files = new OpenFiles(path);
    this.#plants = new SqlitePlants(this.#database, onUnavailable);
    this.tokens = this.#guarded(new SqliteTokens(this.#database));
    this.#indexes = new SqliteIndexes(this.#database);
  }

  create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    return this.#onDisk(async () => {
      const replaced = this.#files.findReplaced();
      if (replaced === undefined) return this.#plants.create(batch);
      this.#onUnavailable(replacedMessage(replaced));
      return batch.map(() => "unavailable");
    });
  }

  assertWritable(): Promise<void> {
    return this.#write(async () => probeCommit(this.#database));
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    return this.#plants.get(id);
  }

  async *export(filter: ExportFilter): AsyncGenerator<NewPlant[]> {
    yield* exportPlants(this.#database, filter);
  }

  async count(filter: ExportFilter): Promise<number> {
    return countPlants(this.#database, filter);
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
    // Closing runs a checkpoint, from pages that may not be on the disk.
    if (this.#hasDiskFailed) return;
    this.#plants.finalize();
    this.#database.close();
  }

  /** The same tokens, each method run by #read or #write. */
  #guarded(tokens: SqliteTokens): TokenStore {
    const methods = Object.entries(tokenStoreMethods).map(([name, access]) => {
      const method = tokens[name as keyof TokenStore].bind(tokens) as (
        ...args: unknown[]
      ) => Promise<unknown>;
      const run = (call: () => Promise<unknown>) =>
        access === "read" ? this.#read(call) : this.#write(call);
      return [name, (...args: unknown[]) => run(() => method(...args))];
    });
    return Object.fromEntries(methods) as unknown as TokenStore;
  }

  /** Rejects with an OperatorError if the open files were removed or replaced. */
  #read<T>(call: () => Promise<T>): Promise<T> {
    return this.#onDisk(() => {
      const replaced = this.#files.findReplaced();
      if (replaced !== undefined) throw new OperatorError(replacedMessage(replaced));
      return call();
    });
  }

  /** The same, with a checkpoint if the WAL is long: without creates only these calls grow it, a probe of readiness by a page. */
  #write<T>(call: () => Promise<T>): Promise<T> {
    return this.#read(() => {
      this.#plants.checkpointIfLong();
      return call();
    });
  }

  async #onDisk<T>(call: () => Promise<T>): Promise<T> {
    if (this.#hasDiskFailed) throw diskFailure(this.#path, "an fsync failed before");
    try {
      return await call();
    } catch (error) {
      if (!isFailedFsync(error)) throw error;
      this.#hasDiskFailed = true;
      const reason = `${error.message} (${error.code})`;
      writeFailureMarker(this.#path, reason);
      throw diskFailure(this.#path, reason);
    }
  }
}

function replacedMessage(path: string): string {
  return `${path} was removed or replaced while it was open; put it back, or restart with the file that is there`;
}

function diskFailure(path: string, reason: string): DiskFailureError {
  return new DiskFailureError(
    `the disk of ${path} failed: ${reason}; check the disk, and restart: the store is recovered then`,
  );
}
