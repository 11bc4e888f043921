// A call of a SqlConnection, as it is sent to the thread that has the database.

import type { SqlStatement } from "../sql-connection.ts";

/** See SqlConnection. */
export const inTime = "in_time()";

/** The statements of one call, as they are sent to the thread. */
export interface SqlCall {
  readonly statements: readonly SqlStatement[];
  readonly isTransaction: boolean;
  readonly msMax: number;
}
