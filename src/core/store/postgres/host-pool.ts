// The connections to one host.

import { assertReplicated, closeMsMax, type HostConnection, StoreClient } from "./client.ts";
import { type ClientConfig, DatabaseError, Pool, type QueryConfig } from "./driver.ts";
import { classifyError, isNameLost, NoPrimary } from "./errors.ts";
import {
  clientLimit,
  type Guard,
  GuardedCopy,
  GuardedQuery,
  type Statement,
  settingsSql,
  unsafeReason,
} from "./guarded-query.ts";

/** The capabilities and settings of a host, as its check found them. */
export interface HostTraits {
  /**
   * The value that transactions set: `on`, or `remote_apply` if the server is configured so.
   * Undefined if it cannot set parameters for one transaction: only the client has limits then.
   */
  readonly synchronousCommit: "on" | "remote_apply" | undefined;
  /** Whether full_page_writes may be off, see the URL parameter of that name. */
  readonly acceptsTornPages: boolean;
  /** Whether it is PostgreSQL, with or without Citus, and not another database with its protocol. */
  readonly isPostgres: boolean;
  /** Whether statements may be prepared by name. */
  readonly namesStatements: boolean;
  readonly insertMethod: InsertMethod;
  /**
   * Batches with at least as many rows are inserted by COPY, in one round trip: PgBouncer, which
   * would lose count of the responses, gets none.
   */
  readonly copyRowsMin: number;
}

/**
 * The statement that inserts a batch: a list of VALUES, or a selection from arrays. On PostgreSQL
 * unnest takes 0.6 of the processor time, and it is one statement for all sizes, so that it can be
 * prepared. On Citus it is 30 times slower: INSERT … SELECT is pulled through the coordinator.
 */
type InsertMethod = "values" | "unnest";

/** Time limits of one statement or transaction. */
interface Limits {
  /** For each statement; by default that of the connection options. */
  readonly statementMs?: number | undefined;
  /** For each wait for a lock; by default only that of the statement. */
  readonly lockMs?: number | undefined;
}

interface TransactionOptions extends Limits {
  /** Follows BEGIN. */
  readonly mode?: string;
}

/** A pool, or one of its connections. */
export type Queries = Pick<HostPool, "query">;

/** The connections to one host. */
export class HostPool {
  /** Its host and port. */
  readonly name: string;
  /** Until the check of the host, transactions have no parameters. */
  traits: HostTraits = {
    synchronousCommit: undefined,
    acceptsTornPages: false,
    isPostgres: false,
    namesStatements: false,
    insertMethod: "values",
    copyRowsMin: Number.POSITIVE_INFINITY,
  };
  /** When a COPY has last failed. */
  copyFailedAt = Number.NEGATIVE_INFINITY;
  readonly #pool: Pool;
  /** The time limit of a statement. */
  readonly statementMs: number;
  /** Its connections until they have ended, also those that are still connecting. */
  readonly #clients = new Set<StoreClient>();
  #retired: PromiseWithResolvers<void> | undefined;

  /** @param config where `query_timeout` is the time limit of a statement. */
  constructor(config: ClientConfig, connectionsMax: number) {
    this.name = `${config.host}:${config.port}`;
    this.statementMs = Number(config.query_timeout ?? 0);
    const options = {
      ...config,
      query_timeout: clientLimit(this.statementMs),
      max: connectionsMax,
      idleTimeoutMillis: 0,
      Client: StoreClient as never,
      onNew: (client: StoreClient) => this.#add(client),
    };
    this.#pool = new Pool(options);
    this.#pool.on("error", () => undefined);
  }

  /** Connections whose backend is not known to have ended. */
  get size(): number {
    return this.#clients.size;
  }

  /** Runs a statement, by default in a transaction with the parameters of a batch. */
  async query<Row extends object>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }> {
    const config: Statement = {
      ...(typeof statement === "string" ? { text: statement } : statement),
      ...(values === undefined ? {} : { values: [...values] }),
    };
    const limits = { statementMs: config.query_timeout, lockMs: config.lockMs };
    const guard = config.isAlone === true ? undefined : this.#guard(limits);
    // The types take it for a query whose rows are events.
    const query = guard === undefined ? config : (new GuardedQuery(config, guard) as object as QueryConfig);
    try {
      return await this.#pool.query<Row>(query);
    } catch (error) {
      this.#stopNamingIfLost(error);
      throw error;
    }
  }

  /**
   * Runs COPY … FROM STDIN in a transaction with the parameters of a batch; returns the number of
   * rows that were stored. Its connection stays if a row is rejected: a new one takes Citus 50 ms of
   * processor time.
   */
  async copy(text: string, rows: Buffer, limits: Limits): Promise<number> {
    const guard = this.#guard(limits);
    if (guard === undefined) throw new Error("a COPY needs the parameters of a batch");
    const connection = await this.connect();
    try {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const query = new GuardedCopy(text, rows, guard);
      query.callback = (error, result) => (error ? reject(error) : resolve(Number(result?.rowCount)));
      connection.query(query);
      const stored = await promise;
      connection.release();
      return stored;
    } catch (error) {
      this.#stopNamingIfLost(error);
      connection.release(!(error instanceof DatabaseError) || classifyError(error) === "connectionLost");
      throw error;
    }
  }

  /** A pooler does not pass the names on: the retry and everything after it is unnamed. */
  #stopNamingIfLost(error: unknown): void {
    if (isNameLost(error))
      this.traits = { ...this.traits, namesStatements: false, copyRowsMin: Number.POSITIVE_INFINITY };
  }

  /** Runs work in a transaction with the parameters of a batch, and commits it. */
  async transaction<Result>(
    work: (connection: HostConnection) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result> {
    const connection = await this.begin(options);
    try {
      const result = await work(connection);
      await connection.query("COMMIT");
      assertReplicated(connection.connection);
      connection.release();
      return result;
    } catch (error) {
      // After an error of the client the state of the connection is unknown.
      const isRolledBack =
        error instanceof DatabaseError &&
        (await connection.query("ROLLBACK").then(
          () => true,
          () => false,
        ));
      connection.release(!isRolledBack);
      throw error;
    }
  }

  /** Begins such a transaction on a connection that the caller releases. */
  async begin({ mode = "", ...limits }: TransactionOptions = {}): Promise<HostConnection> {
    const connection = await this.connect();
    const guard = this.#guard(limits);
    try {
      if (guard === undefined) await connection.query(`BEGIN ${mode}`);
      else await this.#begin(connection, mode, guard);
      return connection;
    } catch (error) {
      connection.release(true);
      throw error;
    }
  }

  /** A connection that the caller releases. */
  connect(): Promise<HostConnection> {
    return this.#pool.connect() as Promise<HostConnection>;
  }

  async #begin(connection: HostConnection, mode: string, { values, check }: Guard): Promise<void> {
    const [statementMs, lockMs, synchronousCommit] = values;
    const sql = settingsSql(`'${statementMs}'`, `'${lockMs}'`, `'${synchronousCommit}'`);
    // A simple query of two statements has two results; the types have one.
    const results = (await connection.query({
      text: `BEGIN ${mode}; ${sql}`,
      rowMode: "array",
    })) as unknown as {
      rows: (string | null)[][];
    }[];
    check(results[1]?.rows[0]);
  }

  #guard({ statementMs = this.statementMs, lockMs = 0 }: Limits): Guard | undefined {
    const { synchronousCommit, acceptsTornPages } = this.traits;
    if (synchronousCommit === undefined) return undefined;
    return {
      values: [String(statementMs), String(lockMs), synchronousCommit],
      check: (row = []) => {
        const reason = unsafeReason(row, acceptsTornPages);
        if (reason !== undefined) throw new NoPrimary(`${this.name}: ${reason}`, true);
      },
    };
  }

  #add(client: StoreClient): void {
    this.#clients.add(client);
    client.once("end", () => {
      this.#clients.delete(client);
      if (this.#clients.size === 0) this.#retired?.resolve();
    });
  }

  /** Accepts no more statements; running ones continue. Resolves when no connection is left. */
  retire(): Promise<void> {
    if (this.#retired !== undefined) return this.#retired.promise;
    this.#retired = Promise.withResolvers<void>();
    for (const client of this.#clients) if (!client.isBusy) client.socket.destroy();
    void this.#pool.end();
    if (this.#clients.size === 0) this.#retired.resolve();
    return this.#retired.promise;
  }

  /** Retires the pool, and ends running statements after a second. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => void this.destroy(), closeMsMax);
    await this.retire();
    clearTimeout(deadline);
  }

  /** Retires the pool, and ends running statements at once. */
  destroy(): Promise<void> {
    for (const client of this.#clients) client.socket.destroy();
    return this.retire();
  }
}
