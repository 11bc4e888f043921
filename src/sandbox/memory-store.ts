// Runs the SQLite engine in memory, where nothing is kept. Its state can be copied and replaced.

import type { Collection, Contract, Plant } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { newMigration } from "../store/migration/migration.ts";
import { withStoredNames } from "../store/migration/stored-names.ts";
import type { NewEntry, OnUnavailable, Outcome, PlantStore } from "../store/plant-store.ts";
import { type ForgottenEdits, forgetWork } from "../store/shared/forgotten-edits.ts";
import type { ReadConnection } from "../store/shared/page.ts";
import { type EditOutcome, editWork, type RecordedEdit } from "../store/shared/plant-edit.ts";
import { SqlTokens, type TokenStore } from "../store/shared/sql-tokens.ts";
import type { SqlWork } from "../store/shared/sql-work.ts";
import { type RecordedTransaction, wholeTransaction } from "../store/shared/transaction.ts";
import type { SqlConnection } from "../store/sql-connection.ts";
import { Database, sizeLimitOperation } from "../store/sqlite/driver.ts";
import { migrate } from "../store/sqlite/migrations.ts";
import { SqlitePlants } from "../store/sqlite/plants.ts";
import { SqlReader, sqliteTraits } from "../store/sqlite/sql-reader.ts";
import { runWork } from "../store/sqlite/sql-work.ts";
import { Transactions } from "../store/sqlite/transactions.ts";

interface Opened {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly plants: SqlitePlants;
  readonly sql: SqlReader;
}

const databaseOptions = { strict: true, safeIntegers: true } as const;

/** The size of the whole store. */
const bytesMaxDefault = 1_024 * 2 ** 20;

export class MemoryStore implements PlantStore {
  readonly engine = "memory";
  readonly batchesInFlightMax = 1;
  readonly tokens: TokenStore;
  readonly contract: Contract;
  readonly #onUnavailable: OnUnavailable;
  readonly #bytesMax: number;
  #current: Opened;

  /** @param bytesMax the size of the store; from then on a create is `unavailable`. */
  constructor(contract: Contract, onUnavailable: OnUnavailable, bytesMax = bytesMaxDefault) {
    this.contract = withStoredNames(contract);
    this.#onUnavailable = onUnavailable;
    this.#bytesMax = bytesMax;
    using empty = new Database(":memory:", databaseOptions);
    migrate(empty, "the store in memory", newMigration("sqlite", this.contract));
    this.#current = this.#open(empty.serialize());
    const run = async <Result>(work: () => SqlWork<Result>) => {
      const { database, transactions } = this.#current;
      return transactions.run(() => runWork(database, work()));
    };
    this.tokens = new SqlTokens({ read: run, change: run, record: run });
  }

  async create(batch: readonly NewEntry[], createdAt = Date.now()): Promise<Outcome[]> {
    return this.#current.plants.create(batch, createdAt);
  }

  async edit(edits: readonly RecordedEdit[]): Promise<EditOutcome[]> {
    return this.#current.transactions.change(() => editWork(this.contract, edits));
  }

  async transact(transaction: RecordedTransaction): Promise<EditOutcome> {
    return this.#current.transactions.transact(() => wholeTransaction(this.contract, transaction));
  }

  async forget(edits: ForgottenEdits): Promise<number> {
    return this.#current.transactions.change(() => forgetWork(edits));
  }

  async purge(): Promise<readonly string[]> {
    return [];
  }

  async bytesOnDisk(): Promise<number> {
    const [[bytes] = []] = this.#current.database
      .query("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
      .values();
    return Number(bytes);
  }

  async assertWritable(): Promise<void> {
    this.#current.plants.probe();
  }

  /** Opens a connection whose calls block the thread while they run. */
  async openSql(): Promise<ReadConnection> {
    return {
      ...sqliteTraits,
      query: (...call) => this.#query(...call),
      find: (...plants) => this.#current.sql.find(...plants),
      get: (...plants) => this.#current.sql.get(...plants),
      page: (...page) => this.#current.sql.page(...page),
      count: (...list) => this.#current.sql.count(...list),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  /** The connection is that of the creates: what a statement would write is refused, as on a server. */
  #query<Row extends object>(...call: Parameters<SqlConnection["query"]>): Promise<Row[]> {
    const { database, sql } = this.#current;
    database.run("PRAGMA query_only = ON");
    try {
      return sql.query<Row>(...call);
    } finally {
      database.run("PRAGMA query_only = OFF");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#current.database.close();
  }

  get(collection: Collection, id: PlantId): Plant | undefined {
    return this.#current.plants.get(collection, id);
  }

  count({ table }: Collection): number {
    return Number(this.#current.database.query(`SELECT count(*) FROM "${table}"`).values()[0]?.[0]);
  }

  /** Copies plants and tokens. It takes 1 ms for 100,000 plants. */
  copy(): Uint8Array {
    return this.#current.database.serialize();
  }

  /** Replaces plants and tokens with those of a copy, between two batches. */
  replace(copy: Uint8Array): void {
    const former = this.#current;
    const replacement = this.#open(copy);
    // The server remembers the keys of creators.
    replacement.database.run("DELETE FROM creators");
    for (const row of former.database.query("SELECT * FROM creators").values())
      replacement.database
        .query(`INSERT INTO creators VALUES (?${", ?".repeat(row.length - 1)})`)
        .run(...row);
    this.#current = replacement;
    // A search continues in microtasks until its end, on the database that it began with.
    setImmediate(() => former.database.close());
  }

  #open(copy: Uint8Array): Opened {
    const database = Database.deserialize(copy, databaseOptions);
    database.fileControl(sizeLimitOperation, new BigInt64Array([BigInt(this.#bytesMax)]));
    const transactions = new Transactions(database);
    return {
      database,
      transactions,
      plants: new SqlitePlants(transactions, this.contract.collections, this.#onUnavailable),
      sql: new SqlReader(database, this.contract),
    };
  }
}
