// Runs the SQL that every engine has in common.

import type { SqlStatement, SqlValue } from "../sql-connection.ts";
import type { SqlWork } from "../sql-work.ts";
import { escapeLiteral, type QueryConfig } from "./driver.ts";
import type { Queries } from "./host-pool.ts";

/**
 * Runs statements one after the other.
 *
 * @param connection a connection in a transaction, or a pool if no statements are yielded together.
 * @param msMax the client's time limit of a statement; by default that of the connection.
 */
export async function runWork<Result>(
  connection: Queries,
  work: SqlWork<Result>,
  msMax?: number,
): Promise<Result> {
  const limit = msMax === undefined ? {} : { query_timeout: msMax };
  let step = work.next();
  while (step.done !== true) {
    // Several statements have an array of results; the types have one.
    const results = [await connection.query<object>({ ...joined(step.value), ...limit })].flat();
    step = work.next(results.map(({ rows }) => rows));
  }
  return step.value;
}

/** One statement with its parameters, or several as one text without any. */
function joined(statements: readonly SqlStatement[]): QueryConfig {
  const [only, ...others] = statements;
  if (only !== undefined && others.length === 0)
    return { text: only.sql, values: [...(only.parameters ?? [])] };
  return { text: statements.map(withLiterals).join(";") };
}

/** A statement with its parameters as literals, whose types are those of what they are for. */
function withLiterals({ sql, parameters = [] }: SqlStatement): string {
  return sql.replaceAll(/\$(\d+)/g, (_, number) => literal(parameters[Number(number) - 1] ?? null));
}

function literal(value: SqlValue): string {
  return value === null ? "NULL" : escapeLiteral(String(value));
}
