// Runs statements that read in the thread that has the database: those of a SqlConnection.

import { OperatorError } from "../../base/operator-error.ts";
import { type Contract, collectionOf } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { type FoundPlant, type FoundQuery, foundWork } from "../shared/found-plants.ts";
import type { ListQuery } from "../shared/list-scan.ts";
import {
  countWork,
  type ListCount,
  type Page,
  type PageQuery,
  pageWork,
  type ReadConnection,
} from "../shared/page.ts";
import { ContractChanged } from "../shared/plant-edit.ts";
import { plantsStatement, type StoredRow } from "../shared/plant-rows.ts";
import { SqlTimeout, type SqlValue, sqlMsMaxDefault, WrongStatement } from "../sql-connection.ts";
import { readContractNumber } from "./chosen-contract.ts";
import { Database } from "./driver.ts";
import { readError, wrongStatement } from "./errors.ts";
import { runStatement, runWork } from "./sql-work.ts";
import { type SentError, toSentError } from "./worker-rpc.ts";

const functionName = "in_time";

/** The pages of a message, so that those of others wait for no more. */
export const pagesMax = 8;

/** A page to read, and its time. */
export type PageCall = readonly [query: PageQuery, ms: number];

/**
 * The JSON of each plant, then the tag of each; undefined for one that is not there. Flat, as objects
 * take longer to cross threads.
 */
export type FoundTexts = readonly (string | undefined)[];

/** Why a read has no result whose server has exchanged the connection, or stops. */
export function connectionClosed(): OperatorError {
  return new OperatorError("the connection to the store was closed; try again");
}

/** The members of a ReadConnection that all of SQLite have in common. */
export const sqliteTraits = {
  dialect: "sqlite",
  inTime: `${functionName}()`,
  callsMax: 1,
  shortCallsMax: 2 * pagesMax,
} as const;

/** Runs statements that read, each within its time. Its promises are settled when returned. */
export class SqlReader implements ReadConnection {
  readonly dialect = sqliteTraits.dialect;
  readonly inTime = sqliteTraits.inTime;
  readonly callsMax = sqliteTraits.callsMax;
  readonly shortCallsMax = sqliteTraits.shortCallsMax;
  readonly #database: Database;
  readonly #contract: Contract;
  #deadline = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(database: Database, contract: Contract) {
    this.#database = database;
    this.#contract = contract;
    // SQLite has no time limit, and Bun neither sqlite3_interrupt nor a progress handler.
    database.function(functionName, { deterministic: false }, () => {
      if (performance.now() > this.#deadline) throw new SqlTimeout();
      return 1;
    });
  }

  /** Opens a connection of its own to a file. Throws an OperatorError if that fails. */
  static open(path: string, contract: Contract): SqlReader {
    try {
      const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
      // SQLite opens the WAL with the first statement: later there may be no descriptor for it.
      database.query("SELECT 1 FROM sqlite_schema").get();
      return new SqlReader(database, contract);
    } catch (error) {
      throw readError(error);
    }
  }

  async query<Row>(sql: string, parameters: readonly SqlValue[] = [], msMax?: number): Promise<Row[]> {
    return this.#within(msMax, () => {
      try {
        return runStatement(this.#database, { sql, parameters }) as Row[];
      } catch (error) {
        throw wrongStatement(error, sql) ?? error;
      }
    });
  }

  get(table: string, ids: readonly PlantId[]): Promise<StoredRow[]> {
    const { sql, parameters } = plantsStatement(collectionOf(this.#contract, table), ids);
    return this.query(sql, parameters);
  }

  async find(query: FoundQuery): Promise<(FoundPlant | undefined)[]> {
    return this.#within(undefined, () => runWork(this.#database, foundWork(this.#contract, query)));
  }

  /** Reads plants as `find` does. */
  async findTexts(query: FoundQuery): Promise<FoundTexts> {
    const found = await this.find(query);
    return [...found.map((plant) => plant?.json), ...found.map((plant) => plant?.tag)];
  }

  async page(query: PageQuery, ms: number): Promise<Page> {
    return this.#within(ms, () => runWork(this.#database, pageWork(this.#contract, this, query, ms)), true);
  }

  /** Reads some pages, each as `page` does: a message to a thread takes as long as a page of ten. */
  async pages(calls: readonly PageCall[]): Promise<(Page | SentError)[]> {
    return Promise.all(calls.map((call) => this.page(...call).catch(toSentError)));
  }

  async count(query: ListQuery, ms: number): Promise<ListCount> {
    return this.#within(ms, () => runWork(this.#database, countWork(this.#contract, this, query, ms)), true);
  }

  /** @param endsByItself whether what it has read in its time is a result. */
  #within<Result>(msMax = sqlMsMaxDefault, read: () => Result, endsByItself = false): Result {
    if (this.#isClosed) throw connectionClosed();
    this.#deadline = performance.now() + msMax;
    try {
      return this.#atOneTime(() => {
        const result = read();
        // A statement of somebody else's does not look at its time.
        if (!endsByItself && performance.now() > this.#deadline) throw new SqlTimeout();
        this.#assertContract();
        return result;
      });
    } catch (error) {
      if (error instanceof WrongStatement) this.#assertContract();
      throw readError(error);
    }
  }

  /** Statements see the store as it was at one time, and SQLite looks at its files once for all of them. */
  #atOneTime<Result>(read: () => Result): Result {
    this.#database.query("BEGIN").run();
    try {
      return read();
    } finally {
      // Some errors end it.
      if (this.#database.inTransaction) this.#database.query("ROLLBACK").run();
    }
  }

  /**
   * Throws ContractChanged if what was read may be of another contract, whose number is higher: SQLite
   * takes the quoted name of a column that is not there for a text.
   */
  #assertContract(): void {
    const { number } = this.#contract;
    if (number !== undefined && readContractNumber(this.#database) !== number) throw new ContractChanged();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#database.close(true);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
