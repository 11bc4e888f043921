// Runs the SQL that every engine has in common, in the thread that has the database.

import type { SqlWork } from "../shared/sql-work.ts";
import type { SqlStatement, SqlValue } from "../sql-connection.ts";
import type { Database } from "./driver.ts";

/** Runs one statement, and returns its rows. Throws SQLite's own error. */
export function runStatement(database: Database, { sql, parameters = [] }: SqlStatement): object[] {
  // In SQLite $1 is a name; ?1 is a number. Without parameters it is part of a literal.
  const numbered = parameters.length === 0 ? sql : sql.replaceAll(/\$(\d)/g, "?$1");
  const statement = database.query<object, ReturnType<typeof toBound>[]>(numbered);
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
    step = work.next(step.value.map((statement) => runStatement(database, statement)));
  return step.value;
}
