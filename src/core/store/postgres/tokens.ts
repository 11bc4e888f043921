// Runs the statements on the tokens on PostgreSQL.

import { SqlTokens } from "../sql-tokens.ts";
import { serializeTokenChange } from "./citus/distribution.ts";
import type { PoolClient } from "./driver.ts";
import { rejectForOperator } from "./errors.ts";
import type { Primary } from "./primary.ts";
import { runWork } from "./sql-work.ts";

export class PostgresTokens extends SqlTokens {
  constructor(primary: Primary) {
    super({
      isConcurrent: true,

      read(work) {
        return primary.withRetry((pool) => runWork(pool, work())).catch(rejectForOperator);
      },

      change(work) {
        let attempts = 0;
        const change = async (connection: PoolClient) => {
          attempts++;
          await serializeTokenChange(connection);
          const changed = await runWork(connection, work());
          // A retry that finds its change made would not wait for the standby, which may lack it;
          // the commit of a row lock does.
          if (attempts > 1) await connection.query("SELECT 1 FROM tokens ORDER BY hash LIMIT 1 FOR UPDATE");
          return changed;
        };
        const options = { mode: "ISOLATION LEVEL SERIALIZABLE" };
        return primary.withRetry((pool) => pool.transaction(change, options)).catch(rejectForOperator);
      },

      record(work) {
        const record = (connection: PoolClient) => runWork(connection, work());
        // Whatever the database's default: a serializable transaction would fail.
        const options = { mode: "ISOLATION LEVEL READ COMMITTED" };
        return primary.once((pool) => pool.transaction(record, options)).catch(rejectForOperator);
      },
    });
  }
}
