// Runs the SQL that every engine has in common, in the thread that has the database.

import { BoundedMap } from "../../base/bounded-map.ts";
import type { SqlWork } from "../shared/sql-work.ts";
import type { SqlStatement, SqlValue } from "../sql-connection.ts";
import type { Database } from "./driver.ts";

/** Runs one statement, and returns its rows. Throws SQLite's own error. */
export function runStatement(database: Database, { sql, parameters = [] }: SqlStatement): object[] {
  const statement = database.query<object, ReturnType<typeof toBound>[]>(
    parameters.length === 0 ? sql : numbered(sql),
  );
  return statement.all(...parameters.map(toBound));
}

/** Texts that came before, as most do. */
const numberedTexts = new BoundedMap<string, string>(100);

/** In SQLite $1 is a name; ?1 is a number. Without parameters it is part of a literal. */
function numbered(sql: string): string {
  let text = numberedTexts.get(sql);
  if (text === undefined) {
    text = sql.replaceAll(/\$(\d)/g, "?$1");
    numberedTexts.set(sql, text);
  }
  return text;
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
