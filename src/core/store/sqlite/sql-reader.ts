// Runs statements that read in the thread that has the database: those of a SqlConnection.

import { type SqlStatement, SqlTimeout } from "../sql-connection.ts";
import { Database } from "./driver.ts";
import { readError } from "./errors.ts";
import { runStatement } from "./sql-work.ts";

const functionName = "in_time";

/** See SqlConnection. */
export const inTime = `${functionName}()`;

/** A statement that reads, as it is sent to the thread. */
export interface SqlCall extends SqlStatement {
  readonly msMax: number;
}

/** Runs statements that read, each within its time. */
export class SqlReader {
  readonly #database: Database;
  #deadline = Number.POSITIVE_INFINITY;

  constructor(database: Database) {
    this.#database = database;
    // SQLite has no time limit, and Bun neither sqlite3_interrupt nor a progress handler.
    database.function(functionName, { deterministic: false }, () => {
      if (performance.now() > this.#deadline) throw new SqlTimeout();
      return 1;
    });
  }

  /** Throws an OperatorError if that fails. */
  read(call: SqlCall): object[] {
    this.#deadline = performance.now() + call.msMax;
    try {
      return runStatement(this.#database, call);
    } catch (error) {
      throw readError(error);
    }
  }
}

/** Opens a connection that only reads. Throws an OperatorError if that fails. */
export function openReader(path: string) {
  try {
    const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
    // SQLite opens the WAL with the first statement: later there may be no descriptor for it.
    database.query("SELECT 1 FROM sqlite_schema").get();
    const reader = new SqlReader(database);
    return {
      read: (call: SqlCall) => reader.read(call),
      close: () => database.close(true),
    };
  } catch (error) {
    throw readError(error);
  }
}
