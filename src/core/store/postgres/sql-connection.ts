// The SqlConnection of the PostgreSQL engine, on a connection that no batch uses.

import { type SqlConnection, SqlTimeout, type SqlValue, sqlMsMaxDefault } from "../sql-connection.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { DatabaseError, types } from "./driver.ts";
import { rejectForOperator } from "./errors.ts";
import type { Queries } from "./host-pool.ts";
import { Primary } from "./primary.ts";

/** The object identifiers of int8, int2 and int4. */
const integerTypes: readonly number[] = [20, 21, 23];

const parsers = {
  getTypeParser: (oid: number) => (integerTypes.includes(oid) ? BigInt : types.getTypeParser(oid)),
};

const queryCanceled = "57014";

export class PostgresSqlConnection implements SqlConnection {
  readonly dialect = "postgres";
  /** The server ends statements itself. */
  readonly inTime = "true";
  readonly #primary: Primary;

  /** Connects at the first call. */
  constructor(url: PostgresUrl) {
    this.#primary = new Primary({ ...url, connectionsMax: 1 });
  }

  query<Row extends object>(
    sql: string,
    parameters: readonly SqlValue[] = [],
    msMax = sqlMsMaxDefault,
  ): Promise<Row[]> {
    const statement = { text: sql, values: [...parameters], types: parsers };
    const run = (connection: Queries) => connection.query<Row>(statement);
    const reading = this.#primary.once((pool) =>
      pool.transaction(run, { mode: "READ ONLY", statementMs: msMax }),
    );
    return reading.then(({ rows }) => rows, rejectSql);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#primary.close();
  }
}

function rejectSql(error: unknown): Promise<never> {
  if (error instanceof DatabaseError && error.code === queryCanceled) throw new SqlTimeout();
  return rejectForOperator(error);
}
