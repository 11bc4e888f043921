// Runs the SQL that every engine has in common.

import type { SqlWork } from "../sql-work.ts";
import type { Queries } from "./host-pool.ts";

/** Runs statements one after the other, in a transaction or each in its own. */
export async function runWork<Result>(connection: Queries, work: SqlWork<Result>): Promise<Result> {
  let step = work.next();
  while (step.done !== true) {
    const { sql, parameters = [] } = step.value;
    step = work.next((await connection.query<object>(sql, parameters)).rows);
  }
  return step.value;
}
