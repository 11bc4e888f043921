// Runs statements in the thread that has the database: those of a SqlConnection, and the SQL that
// every engine has in common.

import type { Contract } from "../../contract/contract.ts";
import { type EditOutcome, editWork, type PlantEdit, type RunPart } from "../plant-edit.ts";
import { type SqlStatement, SqlTimeout, type SqlValue } from "../sql-connection.ts";
import type { SqlWork } from "../sql-work.ts";
import { Database } from "./driver.ts";
import { readError } from "./errors.ts";
import { runImmediateTransaction } from "./immediate-transaction.ts";

/** See SqlConnection. */
export const inTime = "in_time()";

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
    database.function(inTime.slice(0, -2), { deterministic: false }, () => {
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

/** Runs one statement, and returns its rows. Throws SQLite's own error. */
function runStatement(database: Database, { sql, parameters = [] }: SqlStatement): object[] {
  // In SQLite $1 is a name; ?1 is a number.
  const statement = database.query<object, ReturnType<typeof toBound>[]>(sql.replaceAll(/\$(\d)/g, "?$1"));
  return statement.all(...parameters.map(toBound));
}

/** Numbers are bound as bigint: between 2^51 and 2^53 Bun binds them as REAL. */
function toBound(value: SqlValue): Exclude<SqlValue, number> {
  return typeof value === "number" ? BigInt(value) : value;
}

/** Runs statements one after the other, in the caller's transaction if there is one. */
export function runWork<Result>(database: Database, work: SqlWork<Result>): Result {
  let step = work.next();
  while (step.done !== true)
    step = work.next(Array.from(step.value, (statement) => runStatement(database, statement)));
  return step.value;
}

/** See PlantStore.edit. Throws as runImmediateTransaction does. */
export function editPlants(
  database: Database,
  contract: Contract,
  edits: readonly PlantEdit[],
  run: RunPart,
): EditOutcome[] {
  return runImmediateTransaction(database, () => runWork(database, editWork(contract, edits, run)));
}
