// The connections to one host. Each is checked and gets its parameters once, when it opens.

import { Socket } from "node:net";
import { Connection, type Queries, type Statement } from "./connection.ts";
import type { HostConfig } from "./connection-url.ts";
import { CopyIn } from "./copy-in.ts";
import { type ClientBase, DatabaseError, Pool } from "./driver.ts";
import { withConnectionLost } from "./errors.ts";
import { type HostTraits, openSession } from "./session.ts";

/** How long a close waits for running statements. */
const closeMsMax = 1_000;

interface TransactionOptions {
  /** Follows BEGIN. */
  readonly mode?: string;
  /** The time limit of each statement; by default that of the session. */
  readonly statementMs?: number | undefined;
  /** How long each statement waits for a lock; by default as the session. */
  readonly lockMs?: number | undefined;
}

export class HostPool implements Queries {
  /** Its host and port. */
  readonly name: string;
  /** When a COPY has last failed. */
  copyFailedAt = Number.NEGATIVE_INFINITY;
  readonly #pool: Pool;
  readonly #statementMsMax: number;
  /** Open sockets, also those that are still connecting. */
  readonly #sockets = new Set<Socket>();
  #traits: HostTraits | undefined;
  #retired: Promise<void> | undefined;

  constructor(config: HostConfig, connectionsMax: number, statementMsMax: number) {
    this.name = `${config.host}:${config.port}`;
    this.#statementMsMax = statementMsMax;
    this.#pool = new Pool({
      ...config,
      max: connectionsMax,
      idleTimeoutMillis: 0,
      stream: () => this.#newSocket(),
      onConnect: async (client: ClientBase) => {
        // Its query rejects; without a listener "error" would end the process.
        client.on("error", () => undefined);
        this.#traits = await openSession(client, statementMsMax);
      },
    });
    this.#pool.on("error", () => undefined);
  }

  /** Connections that are not known to have ended. */
  get size(): number {
    return this.#sockets.size;
  }

  /** What the check of the latest connection has found. */
  get traits(): HostTraits {
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

  /** Runs COPY … FROM STDIN, in a transaction with the statements ahead of it. */
  copy(sql: string, rows: Buffer): Promise<void> {
    return this.#use((connection) => connection.run(connection.client.query(new CopyIn(sql, rows)).done));
  }

  /** Runs work in a transaction, and commits it. */
  transaction<Result>(
    work: (connection: Connection) => Promise<Result>,
    options: TransactionOptions = {},
  ): Promise<Result> {
    return this.#use(async (connection) => {
      try {
        await connection.query(beginSql(options));
        const result = await work(connection);
        await connection.query("COMMIT");
        return result;
      } catch (error) {
        if (error instanceof DatabaseError) await connection.query("ROLLBACK");
        throw error;
      }
    }, options.statementMs);
  }

  /** Begins a transaction on a connection that the caller releases. */
  async begin(options: TransactionOptions): Promise<Connection> {
    const connection = await this.#connect(options.statementMs);
    try {
      await connection.query(beginSql(options));
      return connection;
    } catch (error) {
      connection.release(error);
      throw error;
    }
  }

  /** Checks that the host accepts writes and keeps them. */
  async check(): Promise<void> {
    (await this.#connect()).release();
  }

  /** Accepts no more statements; resolves when the running ones have ended. */
  retire(): Promise<void> {
    this.#retired ??= this.#pool.end().then(() => this.#destroySockets());
    return this.#retired;
  }

  /** Retires the pool, and closes its connections after a second. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => this.#destroySockets(), closeMsMax);
    await this.retire();
    clearTimeout(deadline);
  }

  /** Retires the pool, and closes its connections at once. */
  destroy(): Promise<void> {
    this.#destroySockets();
    return this.retire();
  }

  async #use<Result>(
    work: (connection: Connection) => Promise<Result>,
    statementMs?: number,
  ): Promise<Result> {
    const connection = await this.#connect(statementMs);
    try {
      const result = await work(connection);
      connection.release();
      return result;
    } catch (error) {
      connection.release(error);
      throw error;
    }
  }

  async #connect(statementMs = this.#statementMsMax): Promise<Connection> {
    try {
      return new Connection(await this.#pool.connect(), statementMs);
    } catch (error) {
      throw withConnectionLost(error);
    }
  }

  #newSocket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return socket;
  }

  #destroySockets(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Behind a pooler only a transaction keeps its parameters. */
function beginSql({ mode = "", statementMs, lockMs }: TransactionOptions): string {
  return [
    `BEGIN ${mode}`,
    ...(statementMs === undefined ? [] : [`SET LOCAL statement_timeout = ${statementMs}`]),
    ...(lockMs === undefined ? [] : [`SET LOCAL lock_timeout = ${lockMs}`]),
  ].join("; ");
}
