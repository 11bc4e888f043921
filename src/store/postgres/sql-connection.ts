// Reads PostgreSQL for extras and operations, on connections that no batch uses.

import type { Contract } from "../../contract/contract.ts";
import { type Page, type PageQuery, pageWork, type ReadConnection } from "../shared/page.ts";
import { SqlTimeout, type SqlValue, sqlMsMaxDefault } from "../sql-connection.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { DatabaseError, types } from "./driver.ts";
import { rejectForOperator } from "./errors.ts";
import type { Statement } from "./host-pool.ts";
import { Primary } from "./primary.ts";
import { runWork } from "./sql-work.ts";

/** The object identifiers of int8, int2 and int4. */
const integerTypes: readonly number[] = [20, 21, 23];

const parsers = {
  getTypeParser: (oid: number) => (integerTypes.includes(oid) ? BigInt : types.getTypeParser(oid)),
};

const queryCanceled = "57014";

export class PostgresSqlConnection implements ReadConnection {
  readonly dialect = "postgres";
  /** The server ends statements itself. */
  readonly inTime = "true";
  readonly #primary: Primary;

  /** One less than the connections of the pool. */
  readonly callsMax = 3;
  readonly #contract: Contract;

  /** Connects at the first call. */
  constructor(url: PostgresUrl, contract: Contract) {
    this.#primary = new Primary({ ...url, connectionsMax: 1, isPipelined: true });
    this.#contract = contract;
  }

  async query<Row extends object>(
    sql: string,
    parameters: readonly SqlValue[] = [],
    msMax?: number,
  ): Promise<Row[]> {
    const [rows] = await this.#read([{ text: sql, values: [...parameters] }], msMax);
    return rows as Row[];
  }

  page(query: PageQuery, msMax?: number): Promise<Page> {
    const together = (statements: readonly Statement[]) => this.#read(statements, msMax);
    return runWork({ together }, pageWork(this.#contract, this.inTime, query));
  }

  #read(statements: readonly Statement[], msMax = sqlMsMaxDefault): Promise<object[][]> {
    const typed = statements.map((statement) => ({ ...statement, types: parsers }));
    return this.#primary.once((pool) => pool.read(typed, msMax)).catch(rejectSql);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#primary.close();
  }
}

function rejectSql(error: unknown): Promise<never> {
  if (error instanceof DatabaseError && error.code === queryCanceled) throw new SqlTimeout();
  return rejectForOperator(error);
}
