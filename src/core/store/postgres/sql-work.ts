// Runs the SQL that every engine has in common.

import type { SqlStatement, SqlValue } from "../sql-connection.ts";
import type { SqlWork } from "../sql-work.ts";
import type { Queries } from "./connection.ts";
import { escapeLiteral, type QueryConfig } from "./driver.ts";

/**
 * The texts of statements that are sent together, in UTF-16 code units: they have one time limit,
 * and are escaped letter by letter. 200 edits of 1 MB each were 700 MB, which took too long.
 */
const joinedLengthMax = 2 ** 20;

/**
 * Runs statements one after the other.
 *
 * @param connection a connection in a transaction, or a pool if no statements are yielded together.
 */
export async function runWork<Result>(connection: Queries, work: SqlWork<Result>): Promise<Result> {
  let step = work.next();
  while (step.done !== true) {
    const rows: (readonly object[])[] = [];
    for (const statements of roundTrips(step.value)) {
      // Several statements have an array of results; the types have one.
      const results = [await connection.query<object>(joined(statements))].flat();
      rows.push(...results.map((result) => result.rows));
    }
    step = work.next(rows);
  }
  return step.value;
}

/** Groups statements until they have joinedLengthMax. */
function* roundTrips(statements: Iterable<SqlStatement>): Generator<SqlStatement[]> {
  let group: SqlStatement[] = [];
  let groupLength = 0;
  for (const statement of statements) {
    const length = lengthOf(statement);
    if (group.length > 0 && groupLength + length > joinedLengthMax) {
      yield group;
      group = [];
      groupLength = 0;
    }
    group.push(statement);
    groupLength += length;
  }
  if (group.length > 0) yield group;
}

function lengthOf({ parameters = [] }: SqlStatement): number {
  return parameters.reduce<number>((sum, value) => sum + String(value).length, 0);
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
