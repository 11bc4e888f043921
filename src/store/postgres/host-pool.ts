// Keeps the connections to one host. Each is checked and gets its parameters once, when it opens.

import { Socket } from "node:net";
import { withinTime } from "../../base/time-limit.ts";
import { BoundClient } from "./bound-client.ts";
import type { HostConfig } from "./connection-url.ts";
import { CopyIn } from "./copy-in.ts";
import { type ClientBase, DatabaseError, Pool, type PoolClient, type QueryConfig } from "./driver.ts";
import { ConnectionLost, classifyError, errorReason, withConnectionLost } from "./errors.ts";
import { Pipeline } from "./pipeline.ts";
import { lockMsMax, openSession, type SessionLimits, type SessionTraits } from "./session.ts";

export interface Statement extends QueryConfig {
  readonly rowMode?: "array";
}

/** Runs statements: a connection, or a pool where each statement is a transaction of its own. */
export interface Queries {
  query<Row extends object>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }>;
  /** Runs statements one after the other, and resolves with the rows of each: see isPipelined. */
  together(statements: readonly Statement[]): Promise<object[][]>;
}

interface TransactionOptions {
  /** Follows BEGIN. */
  readonly mode?: string;
  /** The time limit of each statement; by default that of the session. */
  readonly statementMs?: number;
  /** How long each statement waits for a lock; by default as the session. */
  readonly lockMs?: number;
  /**
   * Whether all rows are found by their keys. The plan of a prepared statement would otherwise scan
   * the table for as long as it is kept, if that was small when the plan was made.
   */
  readonly isByKey?: boolean;
}

export interface HostLimits extends SessionLimits {
  readonly connectionsMax: number;
  /** Whether statements are sent before those ahead of them have ended, which a COPY cannot be. */
  readonly isPipelined?: boolean;
}

/** The client waits longer than the server by this much, so that the server ends the statement. */
const graceMs = 1_000;

/** How long a close waits for running statements. */
const closeMsMax = 1_000;

export class HostPool implements Queries {
  /** Its host and port. */
  readonly name: string;
  /** When a COPY has last failed. */
  copyFailedAt = Number.NEGATIVE_INFINITY;
  readonly #pool: Pool;
  readonly #connectMsMax: number;
  readonly #statementMsMax: number;
  /** Open sockets, also those that are still connecting. */
  readonly #sockets = new Set<Socket>();
  #traits: SessionTraits | undefined;
  #closing: Promise<void> | undefined;

  constructor(config: HostConfig, limits: HostLimits) {
    this.name = `${config.host}:${config.port}`;
    this.#connectMsMax = config.connectionTimeoutMillis;
    this.#statementMsMax = limits.statementMsMax;
    this.#pool = new Pool({
      ...config,
      // One more than batches in flight, so that tokens and probes never wait for a batch; and as
      // many again while statements that were given up still run.
      max: 2 * (limits.connectionsMax + 1),
      idleTimeoutMillis: 0,
      pipeline: limits.isPipelined === true,
      ...(config.requiresChannelBinding && { Client: BoundClient }),
      stream: () => this.#newSocket(),
      onConnect: async (client: ClientBase) => {
        // Its query rejects; without a listener "error" would end the process.
        client.on("error", () => undefined);
        this.#traits = await openSession(client, limits);
      },
    });
    this.#pool.on("error", () => undefined);
  }

  /** Returns the traits of the latest connection. Throws if none was opened. */
  get traits(): SessionTraits {
    if (this.#traits === undefined) throw new Error("no connection was opened");
    return this.#traits;
  }

  /** Runs a statement in a transaction of its own. */
  query<Row extends object>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }> {
    return this.#use((connection) => connection.query<Row>(statement, values));
  }

  /** Runs a statement that no transaction may have around it, for longer than others may take. */
  alone(sql: string, statementMs: number): Promise<unknown> {
    return this.#use(async (connection) => {
      await connection.query(`SET statement_timeout = ${statementMs}; SET lock_timeout = 0`);
      try {
        return await connection.query(sql);
      } finally {
        await connection.query(
          `SET statement_timeout = ${this.#statementMsMax}; SET lock_timeout = ${lockMsMax}`,
        );
      }
    }, statementMs);
  }

  /** Runs statements, each in a transaction of its own. */
  together(statements: readonly Statement[]): Promise<object[][]> {
    return this.#use((connection) => connection.together(statements));
  }

  /** Runs one COPY … FROM STDIN or several, in a transaction with the statements ahead of them. */
  copy(sql: string, rows: readonly Buffer[]): Promise<void> {
    return this.#use((connection) => connection.run((client) => client.query(new CopyIn(sql, rows)).done));
  }

  /** Runs work in a transaction, and commits it. */
  transaction<Result>(
    work: (connection: Queries) => Promise<Result>,
    options: TransactionOptions = {},
  ): Promise<Result> {
    return this.transactionEndingWith(
      async (connection) => ({ result: await work(connection), last: [] }),
      options,
    );
  }

  /**
   * Runs work in a transaction, then the last statements, and commits it: in two round trips for work
   * of one, where statements are pipelined.
   */
  transactionEndingWith<Result>(
    work: (connection: Queries) => Promise<{ readonly result: Result; readonly last: readonly Statement[] }>,
    options: TransactionOptions = {},
  ): Promise<Result> {
    return this.#use(async (connection) => {
      try {
        const begun = connection.query(beginSql(options));
        if (!connection.isPipelined) await begun;
        const [{ result, last }] = await Promise.all([work(connection), begun]);
        // After an error COMMIT ends the transaction, too.
        await connection.together([...last, { text: "COMMIT" }]);
        return result;
      } catch (error) {
        if (error instanceof DatabaseError) await connection.query("ROLLBACK");
        throw error;
      }
    }, options.statementMs);
  }

  /**
   * Runs statements that read, in a transaction and in one round trip. Those that are prepared find
   * rows by their keys, or in their order: see TransactionOptions.isByKey.
   */
  read(statements: readonly Statement[], statementMs: number): Promise<object[][]> {
    const isByKey = statements.every(({ name }) => name !== undefined);
    const text = isByKey ? `${readSettings}, set_config('enable_seqscan', 'off', true)` : readSettings;
    const settings = { name: `plantstore_read_${isByKey}`, text, values: [statementMs] };
    return this.#use(async (connection) => {
      const [, ...rows] = await connection.together([settings, ...statements]);
      // Somebody's own statement may have begun a transaction.
      if (connection.isInTransaction) await connection.query("COMMIT");
      return rows;
    }, statementMs);
  }

  /**
   * Checks that the host responds, and a new connection also that it accepts writes. Rejects with
   * ConnectionLost, which names it.
   */
  async check(): Promise<this> {
    try {
      await this.#use((connection) => connection.query("SELECT 1"), this.#connectMsMax);
      return this;
    } catch (error) {
      if (classifyError(error) === "connectionLost") await this.#closeIdle();
      throw new ConnectionLost(`${this.name}: ${errorReason(error)}`);
    }
  }

  /** Closes the idle connections: where one is dead, the others are, too. */
  async #closeIdle(): Promise<void> {
    const idle = Array.from({ length: this.#pool.idleCount }, () => this.#pool.connect());
    for (const taken of await Promise.allSettled(idle))
      if (taken.status === "fulfilled") taken.value.release(true);
  }

  /** Accepts no more statements, and closes all connections after a second. */
  close(): Promise<void> {
    // Needed even if end() has resolved: it does not wait for idle connections, and a host that
    // hangs never closes its side, which would keep the process running.
    setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, closeMsMax).unref();
    this.#closing ??= this.#pool.end();
    return this.#closing;
  }

  async #use<Result>(
    work: (connection: Connection) => Promise<Result>,
    statementMs = this.#statementMsMax,
  ): Promise<Result> {
    const client = await this.#pool.connect().catch((error) => {
      throw withConnectionLost(error);
    });
    const connection = new Connection(client, statementMs);
    try {
      const result = await work(connection);
      client.release();
      return result;
    } catch (error) {
      connection.releaseAfter(error);
      throw error;
    }
  }

  #newSocket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return socket;
  }
}

/** A connection while work uses it. */
class Connection implements Queries {
  readonly #client: PoolClient;
  readonly #statementMsMax: number;
  #running: Promise<unknown> = Promise.resolve();

  constructor(client: PoolClient, statementMsMax: number) {
    this.#client = client;
    this.#statementMsMax = statementMsMax;
  }

  query<Row extends object>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }> {
    return this.run((client) => client.query<Row>(statement as QueryConfig, values as unknown[]));
  }

  /** Whether statements are sent before those ahead of them have ended. */
  get isPipelined(): boolean {
    return this.#client.pipeline;
  }

  together(statements: readonly Statement[]): Promise<object[][]> {
    return this.run((client) => client.query(new Pipeline(statements)).done);
  }

  get isInTransaction(): boolean {
    return this.#client.getTransactionStatus() !== "I";
  }

  /** Starts a statement, and waits for it; rejects with PostgreSQL's error or ConnectionLost. */
  async run<Result>(start: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const running = start(this.#client);
    this.#running = running;
    try {
      return await withinTime(running, this.#statementMsMax + graceMs, "the database");
    } catch (error) {
      throw withConnectionLost(error);
    }
  }

  /**
   * Returns the connection to its pool, or closes it unless the error is one of a statement. It
   * stays taken until its statement ends, which bounds the statements that a hanging server
   * accumulates. They are not cancelled: that would end the wait for the standby, and show a plant
   * that it lacks.
   */
  releaseAfter(error: unknown): void {
    if (error instanceof DatabaseError && classifyError(error) !== "connectionLost") this.#client.release();
    else void Promise.allSettled([this.#running]).then(() => this.#client.release(true));
  }
}

/** Set until the transaction ends: see beginSql. */
const readSettings =
  "SELECT set_config('transaction_read_only', 'on', true), set_config('statement_timeout', $1, true)";

/** Behind a pooler only a transaction keeps its parameters. */
function beginSql({ mode = "", statementMs, lockMs, isByKey = false }: TransactionOptions): string {
  return [
    `BEGIN ${mode}`,
    ...(statementMs === undefined ? [] : [`SET LOCAL statement_timeout = ${statementMs}`]),
    ...(lockMs === undefined ? [] : [`SET LOCAL lock_timeout = ${lockMs}`]),
    ...(isByKey ? ["SET LOCAL enable_seqscan = off"] : []),
  ].join("; ");
}
