// Runs the SQL that every engine has in common on a connection of PostgreSQL.

import type { SqlWork } from "../shared/sql-work.ts";
import type { SqlStatement } from "../sql-connection.ts";
import type { Queries, Statement } from "./host-pool.ts";

/** Runs work in a transaction, or each of its yields in its own. */
export async function runWork<Result>(
  connection: Pick<Queries, "together">,
  work: SqlWork<Result>,
): Promise<Result> {
  let step = work.next();
  while (step.done !== true) step = work.next(await connection.together(step.value.map(toStatement)));
  return step.value;
}

/** A server keeps so many statements on a connection, where it takes some ten kilobytes for each. */
const preparedMax = 1_000;

/** The names of prepared statements, by their SQL. */
const names = new Map<string, string>();

export function toStatement({ sql, parameters = [], isPrepared = false }: SqlStatement): Statement {
  const statement = { text: sql, values: [...parameters] };
  if (!isPrepared) return statement;
  let name = names.get(sql);
  if (name === undefined) {
    if (names.size === preparedMax) return statement;
    name = `plantstore_${names.size}`;
    names.set(sql, name);
  }
  return { ...statement, name };
}
