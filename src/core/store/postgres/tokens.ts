// Runs the statements on the tokens on PostgreSQL.

import type { SqlStatement } from "../sql-connection.ts";
import { SqlTokens, type SqlWork } from "../sql-tokens.ts";
import { serializeTokenChange } from "./citus/distribution.ts";
import type { Queries } from "./connection.ts";
import type { PoolClient } from "./driver.ts";
import { rejectForOperator } from "./errors.ts";
import type { Primary } from "./primary.ts";

export class PostgresTokens extends SqlTokens {
  constructor(primary: Primary) {
    super({
      isConcurrent: true,

      read(work) {
        const read = (pool: Queries) => runWork((statement) => run(pool, statement), work());
        return primary.withRetry(read).catch(rejectForOperator);
      },

      change(work) {
        let attempts = 0;
        const change = async (connection: PoolClient) => {
          attempts++;
          await serializeTokenChange(connection);
          const changed = await runWork((statement) => run(connection, statement), work());
          // A retry that finds its change made would not wait for the standby, which may lack it;
          // the commit of a row lock does.
          if (attempts > 1) await connection.query("SELECT 1 FROM tokens ORDER BY hash LIMIT 1 FOR UPDATE");
          return changed;
        };
        const options = { mode: "ISOLATION LEVEL SERIALIZABLE" };
        return primary.withRetry((pool) => pool.transaction(change, options)).catch(rejectForOperator);
      },

      record(work) {
        const record = (connection: PoolClient) => runWork((statement) => run(connection, statement), work());
        // Whatever the database's default: a serializable transaction would fail.
        const options = { mode: "ISOLATION LEVEL READ COMMITTED" };
        return primary.once((pool) => pool.transaction(record, options)).catch(rejectForOperator);
      },
    });
  }
}

/** Runs statements one after the other. */
export async function runWork<Result>(
  query: (statement: SqlStatement) => Promise<readonly object[]>,
  work: SqlWork<Result>,
): Promise<Result> {
  let step = work.next();
  while (step.done !== true) step = work.next(await query(step.value));
  return step.value;
}

/** Runs a statement whose parameters are no bigints. */
export async function run(
  connection: Queries,
  { sql, parameters = [] }: SqlStatement,
): Promise<readonly object[]> {
  const { rows } = await connection.query<object>(sql, [...parameters]);
  return rows;
}
