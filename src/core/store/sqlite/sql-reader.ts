// Runs statements that read in the thread that has the database: those of a SqlConnection.

import type { Contract } from "../../contract/contract.ts";
import { type Page, type PageQuery, pageWork } from "../shared/page.ts";
import { type SqlStatement, SqlTimeout } from "../sql-connection.ts";
import { Database } from "./driver.ts";
import { readError } from "./errors.ts";
import { runStatement, runWork } from "./sql-work.ts";

const functionName = "in_time";

/** See SqlConnection. */
export const inTime = `${functionName}()`;

/** A statement that reads, as it is sent to the thread. */
interface SqlCall extends SqlStatement {
  readonly msMax: number;
}

/** Runs statements that read, each within its time. Its promises are settled when returned. */
export class SqlReader {
  readonly #database: Database;
  readonly #contract: Contract;
  #deadline = Number.POSITIVE_INFINITY;

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

  /** Runs a statement. Rejects with an OperatorError if it fails or takes too long. */
  async read(call: SqlCall): Promise<object[]> {
    return this.#inTime(call.msMax, () => runStatement(this.#database, call));
  }

  /** Reads a page. Rejects with an OperatorError if that fails or takes too long. */
  async page(query: PageQuery, msMax: number): Promise<Page> {
    return this.#inTime(msMax, () => runWork(this.#database, pageWork(this.#contract, inTime, query)));
  }

  #inTime<Result>(msMax: number, read: () => Result): Result {
    this.#deadline = performance.now() + msMax;
    try {
      return read();
    } catch (error) {
      throw readError(error);
    }
  }

  async close(): Promise<void> {
    this.#database.close(true);
  }
}
