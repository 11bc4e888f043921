// The SQLite engine in the thread that opens it. Its methods are promises by their type alone: each blocks until
// the disk has answered, so a server uses SqliteThread.

import type { NewPlant } from "../../contract/plant.ts";
import type {
  ObserveUnavailable,
  OpenMode,
  Outcome,
  ReadablePlantStore,
  Selection,
  StoreSize,
} from "../plant-store.ts";
import { openDatabase } from "./database.ts";
import type { Database } from "./driver.ts";
import { countPlants, exportPlants } from "./export.ts";
import { bytesOnDisk } from "./files.ts";
import { SqliteIndexes } from "./indexes.ts";
import { rewriteVersion, schemaVersion } from "./migrations.ts";
import { SqlitePlants } from "./plants.ts";
import { SqliteReader } from "./reader.ts";
import { SqliteTokens } from "./tokens.ts";

export class SqliteStore implements ReadablePlantStore {
  readonly engine = "sqlite";
  readonly batchesInFlightMax = 1;
  readonly tokens: SqliteTokens;
  readonly indexes: SqliteIndexes;
  readonly #path: string;
  readonly #database: Database;
  readonly #plants: SqlitePlants;

  /** Opens a store file, see openDatabase. */
  constructor(path: string, mode: OpenMode, observe: ObserveUnavailable) {
    this.#path = path;
    this.#database = openDatabase(path, mode);
    this.#plants = new SqlitePlants(this.#database, observe);
    this.tokens = new SqliteTokens(this.#database);
    this.indexes = new SqliteIndexes(this.#database);
  }

  async create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    return this.#plants.create(batch);
  }

  async assertWritable(): Promise<void> {
    // A commit that leaves all as it was, and that the disk must take all the same.
    rewriteVersion(this.#database);
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    return this.#plants.get(id);
  }

  async *export(selection: Selection): AsyncGenerator<NewPlant[]> {
    yield* exportPlants(this.#database, selection);
  }

  async count(selection: Selection): Promise<number> {
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
    this.#plants.finalize();
    this.#database.close();
  }
}
