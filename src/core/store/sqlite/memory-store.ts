// The SQLite engine in memory: nothing is kept. Its state can be copied and replaced.

import type { NewPlant } from "../../contract/plant.ts";
import type { EditOutcome, EditRun, PlantEdit } from "../plant-edit.ts";
import type { ExportFilter, NewEntry, OnUnavailable, Outcome, PlantStore } from "../plant-store.ts";
import type { SqlAccess, SqlConnection } from "../sql-connection.ts";
import type { NewToken, TokenStore } from "../token-store.ts";
import { Database, sizeLimitOperation } from "./driver.ts";
import { editPlants } from "./edits.ts";
import { migrate } from "./migrations.ts";
import { countPlants, exportPlants, SqlitePlants } from "./plants.ts";
import { SqliteSqlConnection } from "./sql-connection.ts";
import { SqlRunner } from "./sql-statements.ts";
import { SqliteTokens } from "./tokens.ts";

/** A copy of all plants and indexes, as the file of a database. */
export type PlantsCopy = Uint8Array;

interface PlantsDatabase {
  readonly database: Database;
  readonly plants: SqlitePlants;
  readonly sql: SqlRunner;
  /** The highest key of the creators that were copied from the database of the tokens. */
  lastCreator: number;
}

const databaseName = "the store in memory";

const databaseOptions = { strict: true, safeIntegers: true } as const;

/** No WAL needs an fsync or can be full. */
const noWal = { ensureSynced: () => true, makeRoom: () => undefined };

/** The size of all plants with their indexes. */
const bytesMaxDefault = 1_024 * 2 ** 20;

/** Plants and tokens are in two databases: the one of the plants is replaced as a whole. */
export class MemoryStore implements PlantStore {
  readonly engine = "memory";
  readonly batchesInFlightMax = 1;
  readonly tokens: TokenStore;
  readonly #onUnavailable: OnUnavailable;
  readonly #bytesMax: number;
  readonly #tokensDatabase: Database;
  #current: PlantsDatabase;

  /** @param bytesMax the size of all plants; from then on a create is `unavailable`. */
  constructor(onUnavailable: OnUnavailable, bytesMax = bytesMaxDefault) {
    this.#onUnavailable = onUnavailable;
    this.#bytesMax = bytesMax;
    this.#tokensDatabase = emptyDatabase();
    this.tokens = withoutRemoval(new SqliteTokens(this.#tokensDatabase));
    using empty = emptyDatabase();
    this.#current = this.#open(empty.serialize());
  }

  async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    if (batch.some(({ creator }) => creator !== null && creator > this.#current.lastCreator))
      this.#copyCreators();
    return this.#current.plants.create(batch);
  }

  async edit(edits: readonly PlantEdit[], run: EditRun): Promise<EditOutcome[]> {
    return editPlants(this.#current.database, edits, run);
  }

  async bytesOnDisk(): Promise<undefined> {
    return undefined;
  }

  walBytes(): undefined {
    return undefined;
  }

  async assertWritable(): Promise<void> {
    this.#current.plants.probe();
  }

  /** Opens a connection whose calls block the thread while they run. */
  async openSql(access: SqlAccess): Promise<SqlConnection> {
    return new SqliteSqlConnection(async (call) => this.#current.sql[access](call));
  }

  async close(): Promise<void> {
    close(this.#current);
    this.#tokensDatabase.close();
  }

  get(id: bigint): NewPlant | undefined {
    return this.#current.plants.get(id);
  }

  /** Plants ordered by id, some hundreds at a time. Read it to the end before any other call. */
  plants(filter: ExportFilter): Generator<readonly NewPlant[]> {
    return exportPlants(this.#current.database, filter);
  }

  count(): number {
    return countPlants(this.#current.database, {});
  }

  /** A copy of all plants and indexes. It takes 1 ms for 100,000 plants. */
  copyPlants(): PlantsCopy {
    return this.#current.database.serialize();
  }

  /** Replaces all plants and indexes with those of a copy, between two batches. */
  replacePlants(copy: PlantsCopy): void {
    const former = this.#current;
    this.#current = this.#open(copy);
    // A search continues in microtasks until its end, on the database that it began with.
    setImmediate(() => close(former));
  }

  async replaceTokens(token: NewToken): Promise<void> {
    this.#tokensDatabase.run("DELETE FROM tokens");
    await this.tokens.add(token);
  }

  /** Plants are shown with the names of their creators, which are stored with the tokens. */
  #copyCreators(): void {
    const creators = this.#tokensDatabase.query<{ id: bigint; name: string }, []>(
      "SELECT id, name FROM creators ORDER BY id",
    );
    const { database } = this.#current;
    const insert = database.query("INSERT OR REPLACE INTO creators (id, name) VALUES (?, ?)");
    for (const { id, name } of creators.all()) {
      insert.run(id, name);
      this.#current.lastCreator = Number(id);
    }
  }

  #open(copy: PlantsCopy): PlantsDatabase {
    const database = Database.deserialize(copy, databaseOptions);
    database.fileControl(sizeLimitOperation, new BigInt64Array([BigInt(this.#bytesMax)]));
    return {
      database,
      plants: new SqlitePlants(database, this.#onUnavailable, noWal),
      sql: new SqlRunner(database),
      lastCreator: 0,
    };
  }
}

function emptyDatabase(): Database {
  const database = new Database(":memory:", databaseOptions);
  migrate(database, databaseName);
  return database;
}

function close({ plants, database }: PlantsDatabase): void {
  plants.finalize();
  database.close();
}

/** The tokens. Ended ones are not removed: they are active again if the clock is set back. */
function withoutRemoval(tokens: SqliteTokens): TokenStore {
  tokens.removeEnded = async () => 0;
  return tokens;
}
