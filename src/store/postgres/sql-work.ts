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

/** The names of prepared statements, by their SQL. */
const names = new Map<string, string>();

export function toStatement({ sql, parameters = [], isPrepared = false }: SqlStatement): Statement {
  const statement = { text: sql, values: [...parameters] };
  if (!isPrepared) return statement;
  const name = names.get(sql) ?? `plantstore_${names.size}`;
  names.set(sql, name);
  return { ...statement, name };
}
