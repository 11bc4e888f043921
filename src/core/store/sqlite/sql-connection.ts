// The SqlConnection of the SQLite engine: reads run in their own thread.

import { OperatorError } from "../../operator-error.ts";
import { type SqlConnection, type SqlStatement, type SqlValue, sqlMsMaxDefault } from "../sql-connection.ts";
import { inTime, type SqlCall } from "./sql-statements.ts";
import type { openSql } from "./sql-worker.ts";
import { WorkerClient } from "./worker-rpc.ts";

type RunSql = (call: SqlCall) => Promise<object[]>;

export class SqliteSqlConnection implements SqlConnection {
  readonly dialect = "sqlite";
  readonly inTime = inTime;
  readonly #run: RunSql;
  readonly #close: () => Promise<void>;

  constructor(run: RunSql, close: () => Promise<void> = async () => undefined) {
    this.#run = run;
    this.#close = close;
  }

  query<Row extends object>(
    sql: string,
    parameters: readonly SqlValue[] = [],
    msMax = sqlMsMaxDefault,
  ): Promise<Row[]> {
    return this.transaction([{ sql, parameters }], msMax);
  }

  transaction<Row extends object>(
    statements: readonly SqlStatement[],
    msMax = sqlMsMaxDefault,
  ): Promise<Row[]> {
    return this.#run({ statements, msMax }) as Promise<Row[]>;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}

/** Opens a connection that reads a store in its own thread. Rejects with an OperatorError. */
export async function openReadConnection(path: string): Promise<SqlConnection> {
  const worker = new WorkerClient<typeof openSql>(new URL("./sql-worker.ts", import.meta.url), {
    name: "sql",
  });
  await worker.open(path);
  const { sql } = worker.served;
  return new SqliteSqlConnection(sql.run, async () => {
    worker.rejectQueued(new OperatorError("the server is stopping"));
    await sql.close();
    worker.terminate();
  });
}
