// Tokens in a database of SQLite that a test has opened itself.

import type { TokenDatabase } from "../../src/store/shared/sql-tokens.ts";
import type { SqlWork } from "../../src/store/shared/sql-work.ts";
import type { Database } from "../../src/store/sqlite/driver.ts";
import { runWork } from "../../src/store/sqlite/sql-work.ts";
import { Transactions } from "../../src/store/sqlite/transactions.ts";

/** Runs the statements on tokens in the thread of the test. */
export function tokenDatabase(database: Database): TokenDatabase {
  const transactions = new Transactions(database);
  const change = async <Result>(work: () => SqlWork<Result>) => transactions.change(work);
  return { read: async (work) => runWork(database, work()), change, record: change };
}
