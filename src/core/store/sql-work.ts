// SQL that every engine runs, as generators that yield statements: SQLite runs them without a
// pause, so nothing comes in between; PostgreSQL awaits each.

import type { SqlStatement, SqlValue } from "./sql-connection.ts";

/**
 * Yields statements, and gets the rows of each. Several are yielded together if none depends on the
 * result of another: short ones are one round trip to PostgreSQL. Each is taken when it is run, so
 * that an iterator need not hold all their texts at once.
 */
export type SqlWork<Result> = Generator<Iterable<SqlStatement>, Result, readonly (readonly object[])[]>;

/** Runs one statement, and returns its rows. */
export function* query<Row extends object>(
  sql: string,
  parameters: readonly SqlValue[] = [],
): SqlWork<readonly Row[]> {
  const [rows = []] = yield [{ sql, parameters }];
  return rows as readonly Row[];
}

/** The parameters $1, $2 and so on, in parentheses. */
export function list(parameters: readonly SqlValue[]): string {
  return `(${parameters.map((_, index) => `$${index + 1}`).join(", ")})`;
}
