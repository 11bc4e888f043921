// The SqlConnection of the PostgreSQL engine, on a connection that no batch uses.

import {
  type SqlAccess,
  type SqlConnection,
  type SqlStatement,
  SqlTimeout,
  type SqlValue,
  sqlMsMaxDefault,
} from "../sql-connection.ts";
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
  readonly #access: SqlAccess;

  /** Connects at the first call. */
  constructor(url: PostgresUrl, access: SqlAccess) {
    this.#primary = new Primary({ ...url, connectionsMax: 1 });
    this.#access = access;
  }

  query<Row extends object>(sql: string, parameters?: readonly SqlValue[], msMax?: number): Promise<Row[]> {
    return this.transaction([parameters === undefined ? { sql } : { sql, parameters }], msMax);
  }

  transaction<Row extends object>(
    statements: readonly SqlStatement[],
    msMax = sqlMsMaxDefault,
  ): Promise<Row[]> {
    const deadline = performance.now() + msMax;
    const run = async (connection: Queries): Promise<Row[]> => {
      let rows: Row[] = [];
      for (const [index, { sql, parameters = [] }] of statements.entries()) {
        const msLeft = Math.max(1, Math.ceil(deadline - performance.now()));
        if (index > 0) await connection.query(`SET LOCAL statement_timeout = ${msLeft}`);
        ({ rows } = await connection.query<Row>({ text: sql, values: [...parameters], types: parsers }));
      }
      return rows;
    };
    const options = { mode: this.#access === "read" ? "READ ONLY" : "", statementMs: msMax };
    return this.#primary.once((pool) => pool.transaction(run, options)).catch(rejectSql);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#primary.close();
  }
}

function rejectSql(error: unknown): Promise<never> {
  if (error instanceof DatabaseError && error.code === queryCanceled) throw new SqlTimeout();
  return rejectForOperator(error);
}
