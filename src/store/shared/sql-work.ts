// Defines SQL that every engine runs as generators that yield statements: SQLite runs them without
// a pause, so nothing comes in between; PostgreSQL gets those of one yield in one round trip.

import type { Collection } from "../../contract/contract.ts";
import type { SqlStatement, SqlValue } from "../sql-connection.ts";

/** Yields statements, which run one after the other, and gets the rows of each. */
export type SqlWork<Result> = Generator<readonly SqlStatement[], Result, readonly (readonly object[])[]>;

/** Runs one statement, and returns its rows. */
export function* query<Row extends object>(
  sql: string,
  parameters: readonly SqlValue[] = [],
): SqlWork<readonly Row[]> {
  return (yield [{ sql, parameters }])[0] as readonly Row[];
}

/** The parameters $1, $2 and so on, in parentheses. */
export function list(parameters: readonly SqlValue[]): string {
  return `(${parameters.map((_, index) => `$${index + 1}`).join(", ")})`;
}

/** Writes SQL for each collection once: engines find a statement by its text. */
export function forCollection<Sql>(write: (collection: Collection) => Sql): (collection: Collection) => Sql {
  const written = new WeakMap<Collection, { readonly sql: Sql }>();
  return (collection) => {
    let found = written.get(collection);
    if (found === undefined) {
      found = { sql: write(collection) };
      written.set(collection, found);
    }
    return found.sql;
  };
}
