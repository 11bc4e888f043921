// The SqlConnection of the SQLite engine: reads run in their own thread.

import { OperatorError } from "../../operator-error.ts";
import { type SqlConnection, type SqlValue, sqlMsMaxDefault } from "../sql-connection.ts";
import { inTime, type SqlCall } from "./sql-reader.ts";
import type { openReadThread } from "./sql-worker.ts";
import { WorkerClient } from "./worker-rpc.ts";

/** A connection whose calls `run` runs in the thread that has the database. */
export function toSqlConnection(
  run: (call: SqlCall) => Promise<object[]>,
  close: () => Promise<void> = async () => undefined,
): SqlConnection {
  return {
    dialect: "sqlite",
    inTime,
    query: <Row>(sql: string, parameters: readonly SqlValue[] = [], msMax = sqlMsMaxDefault) =>
      run({ sql, parameters, msMax }) as Promise<Row[]>,
    [Symbol.asyncDispose]: close,
  };
}

/** Opens a connection that reads a store in its own thread. Rejects with an OperatorError. */
export async function openReadConnection(path: string): Promise<SqlConnection> {
  const worker = new WorkerClient<typeof openReadThread>(new URL("./sql-worker", import.meta.url), {
    name: "sql",
  });
  await worker.open(path);
  const { sql } = worker.served;
  return toSqlConnection(sql.run, async () => {
    worker.rejectQueued(new OperatorError("the connection to the store was closed; try again"));
    await sql.close();
    worker.end(true);
  });
}
