// Runs the statements on tokens.

import { SqlTokens } from "../shared/sql-tokens.ts";
import type { SqlWork } from "../shared/sql-work.ts";
import { runWork } from "./sql-work.ts";
import type { Transactions } from "./transactions.ts";

type Guard = <Result>(call: () => Result) => Promise<Result>;

export class SqliteTokens extends SqlTokens {
  constructor(transactions: Transactions, guard: Guard = async (call) => call()) {
    const change = <Result>(work: () => SqlWork<Result>) => guard(() => transactions.change(work));
    super({ read: (work) => guard(() => runWork(transactions.database, work())), change, record: change });
  }
}
