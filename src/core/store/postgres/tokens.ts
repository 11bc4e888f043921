// Runs the statements on the tokens on PostgreSQL.

import { SqlTokens } from "../shared/sql-tokens.ts";
import { rejectForOperator } from "./errors.ts";
import type { Queries } from "./host-pool.ts";
import type { Primary } from "./primary.ts";
import { runWork } from "./sql-work.ts";

export class PostgresTokens extends SqlTokens {
  constructor(primary: Primary) {
    super({
      read: (work) => primary.withRetry((pool) => runWork(pool, work())).catch(rejectForOperator),

      change(work) {
        const change = (connection: Queries) => runWork(connection, work());
        return primary.withRetry((pool) => pool.transaction(change)).catch(rejectForOperator);
      },

      record(work) {
        const record = (connection: Queries) => runWork(connection, work());
        return primary.once((pool) => pool.transaction(record)).catch(rejectForOperator);
      },
    });
  }
}
