// Runs the statements on the tokens on SQLite.

import { SqlTokens, type SqlWork } from "../sql-tokens.ts";
import type { Database } from "./driver.ts";
import { runImmediateTransaction } from "./immediate-transaction.ts";
import { runStatement } from "./sql-statements.ts";

export class SqliteTokens extends SqlTokens {
  constructor(database: Database) {
    super({
      isConcurrent: false,
      read: async (work) => runWork(database, work()),
      async change(work, mayWait) {
        const run = () => runWork(database, work());
        return mayWait ? runImmediateTransaction(database, run) : database.transaction(run).immediate();
      },
      record: async (work) => database.transaction(() => runWork(database, work())).immediate(),
    });
  }
}

/** Runs statements one after the other, in the caller's transaction if there is one. */
export function runWork<Result>(database: Database, work: SqlWork<Result>): Result {
  let step = work.next();
  while (step.done !== true) step = work.next(runStatement(database, step.value));
  return step.value;
}
