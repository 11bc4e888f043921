// Runs the statements on tokens.

import { SqlTokens } from "../sql-tokens.ts";
import type { SqlWork } from "../sql-work.ts";
import type { Database } from "./driver.ts";
import { runImmediateTransaction } from "./immediate-transaction.ts";
import { runWork } from "./sql-work.ts";

/** Runs each read or write of the tokens. */
type Guard = <Result>(access: "read" | "write", run: () => Result) => Promise<Result>;

export class SqliteTokens extends SqlTokens {
  constructor(database: Database, guard: Guard = async (_, run) => run()) {
    const change = <Result>(work: () => SqlWork<Result>) =>
      guard("write", () => runImmediateTransaction(database, () => runWork(database, work())));
    super({ read: (work) => guard("read", () => runWork(database, work())), change, record: change });
  }
}
