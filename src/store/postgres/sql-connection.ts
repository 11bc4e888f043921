// Reads PostgreSQL for extras and operations, on connections that no batch uses.

import { type Contract, collectionOf } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { type FoundPlant, type FoundQuery, foundWork } from "../shared/found-plants.ts";
import type { ListQuery } from "../shared/list-scan.ts";
import {
  countWork,
  type ListCount,
  listMsMax,
  type Page,
  type PageQuery,
  type ReadConnection,
} from "../shared/page.ts";
import { ContractChanged } from "../shared/plant-edit.ts";
import { plantsStatement, type StoredRow } from "../shared/plant-rows.ts";
import type { SqlWork } from "../shared/sql-work.ts";
import { SqlTimeout, type SqlValue, sqlMsMaxDefault, WrongStatement } from "../sql-connection.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { DatabaseError, types } from "./driver.ts";
import { errorReason, isOutdated, rejectForOperator } from "./errors.ts";
import type { Statement } from "./host-pool.ts";
import { Primary } from "./primary.ts";
import { runWork, toStatement } from "./sql-work.ts";
import { writtenPageWork } from "./written-page.ts";

/** The object identifiers of int8, int2 and int4. */
const integerTypes: readonly number[] = [20, 21, 23];

const parsers = {
  getTypeParser: (oid: number) => (integerTypes.includes(oid) ? BigInt : types.getTypeParser(oid)),
};

const queryCanceled = "57014";

/**
 * Syntax errors, errors in data, what is not supported, a wrong number of parameters, and a statement
 * that writes; missing rights (42501) are the operator's.
 */
const wrongStates = /^(?:42(?!501)...|22...|21...|0A...|08P01|25006)$/;

export class PostgresSqlConnection implements ReadConnection {
  readonly dialect = "postgres";
  /** The server ends statements itself. */
  readonly inTime = "true";
  readonly #primary: Primary;

  /** One less than the connections of the pool. */
  readonly callsMax = 3;
  readonly shortCallsMax = 3;
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

  async get(table: string, ids: readonly PlantId[]): Promise<readonly StoredRow[]> {
    const statement = plantsStatement(collectionOf(this.#contract, table), ids);
    const [rows] = await this.#read([toStatement(statement)]);
    return rows as StoredRow[];
  }

  find(query: FoundQuery): Promise<(FoundPlant | undefined)[]> {
    return this.#run(foundWork(this.#contract, query));
  }

  page(query: PageQuery, ms: number): Promise<Page> {
    return this.#run(writtenPageWork(this.#contract, this, query, ms), Math.min(10 * ms, listMsMax));
  }

  /** One statement counts all plants. */
  count(query: ListQuery, ms: number): Promise<ListCount> {
    return this.#run(countWork(this.#contract, this, query, ms), 100 * ms);
  }

  #run<Result>(work: SqlWork<Result>, statementMsMax?: number): Promise<Result> {
    const together = (statements: readonly Statement[]) => this.#read(statements, statementMsMax);
    return runWork({ together }, work);
  }

  #read(statements: readonly Statement[], msMax = sqlMsMaxDefault): Promise<object[][]> {
    const typed = statements.map((statement) => ({ ...statement, types: parsers }));
    return this.#primary
      .once((pool) => pool.read(typed, msMax))
      .catch((error) => this.#reject(error, statements));
  }

  async #reject(error: unknown, statements: readonly Statement[]): Promise<never> {
    const code = error instanceof DatabaseError ? (error.code ?? "") : "";
    if (code === queryCanceled) throw new SqlTimeout();
    if (isOutdated(error) && (await this.#isOtherContract().catch(rejectForOperator)))
      throw new ContractChanged();
    if (wrongStates.test(code))
      throw WrongStatement.of(errorReason(error), statements.map(({ text }) => text).join("; "));
    return rejectForOperator(error);
  }

  async #isOtherContract(): Promise<boolean> {
    const text = "SELECT number FROM plantstore_schema";
    const [[row] = []] = await this.#primary.once((pool) =>
      pool.read([{ text, values: [] }], sqlMsMaxDefault),
    );
    return (row as { number: number } | undefined)?.number !== this.#contract.number;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#primary.close();
  }
}
