// The SqlConnection of the SQLite engine: reads run in their own thread.

import type { Contract } from "../../contract/contract.ts";
import { sentContract } from "../../contract/sent-contract.ts";
import { OperatorError } from "../../operator-error.ts";
import type { ReadConnection } from "../read-connection.ts";
import { type SqlValue, sqlMsMaxDefault } from "../sql-connection.ts";
import { inTime, type SqlReader } from "./sql-reader.ts";
import type { openReadThread } from "./sql-worker.ts";
import { WorkerClient } from "./worker-rpc.ts";

/** A connection whose statements are run by a reader, in the thread that has the database. */
export function toSqlConnection(reader: Pick<SqlReader, "read" | "page" | "close">): ReadConnection {
  return {
    dialect: "sqlite",
    inTime,
    query: <Row>(sql: string, parameters: readonly SqlValue[] = [], msMax = sqlMsMaxDefault) =>
      reader.read({ sql, parameters, msMax }) as Promise<Row[]>,
    page: (query, msMax = sqlMsMaxDefault) => reader.page(query, msMax),
    callsMax: 1,
    [Symbol.asyncDispose]: () => reader.close(),
  };
}

/**
 * Opens a connection that reads a store in its own thread. Rejects with an OperatorError.
 *
 * @param onFailed called if the thread dies, as every later call rejects.
 */
export async function openReadConnection(
  path: string,
  contract: Contract,
  onFailed: (error: Error) => void,
): Promise<ReadConnection> {
  let isOpen = false;
  const worker = new WorkerClient<typeof openReadThread>(new URL("./sql-worker", import.meta.url), {
    name: "sql",
    // One that cannot start rejects here.
    onFailed: (error) => isOpen && onFailed(error),
  });
  try {
    await worker.open(path, sentContract(contract));
  } catch (error) {
    worker.end(true);
    throw error;
  }
  isOpen = true;
  const { reader } = worker.served;
  return toSqlConnection({
    read: reader.read,
    page: reader.page,
    async close() {
      worker.rejectQueued(new OperatorError("the connection to the store was closed; try again"));
      await reader.close();
      worker.end(true);
    },
  });
}
