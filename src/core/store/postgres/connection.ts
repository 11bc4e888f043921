// A connection while work uses it. The server ends a statement that takes too long; this client
// waits a little longer, and then only for a server that hangs.

import { withinTime } from "../../time-limit.ts";
import { DatabaseError, type PoolClient, type QueryConfig } from "./driver.ts";
import { withConnectionLost } from "./errors.ts";

export interface Statement extends QueryConfig {
  readonly rowMode?: "array";
}

/** Runs statements: a connection, or a pool where each statement is a transaction of its own. */
export interface Queries {
  query<Row extends object>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }>;
}

/** The client waits longer than the server by this much, so that the server ends the statement. */
const graceMs = 1_000;

export class Connection implements Queries {
  readonly client: PoolClient;
  readonly #statementMsMax: number;
  #running: Promise<unknown> = Promise.resolve();

  constructor(client: PoolClient, statementMsMax: number) {
    this.client = client;
    this.#statementMsMax = statementMsMax;
  }

  query<Row extends object>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }> {
    return this.run(this.client.query<Row>(statement as QueryConfig, values as unknown[]));
  }

  /** Waits for a statement that was sent; rejects with PostgreSQL's error or ConnectionLost. */
  async run<Result>(running: Promise<Result>): Promise<Result> {
    this.#running = running;
    try {
      return await withinTime(running, this.#statementMsMax + graceMs, "the database");
    } catch (error) {
      throw withConnectionLost(error);
    }
  }

  /**
   * Returns the connection to its pool, or closes it unless the error is one of the database. It
   * stays taken while the server works on a statement: such connections are what bounds the
   * statements that a server which hangs, or waits for its standby, has to finish later. They are
   * not cancelled: that would end the wait for the standby, and show a plant that it lacks.
   */
  release(error?: unknown): void {
    if (error === undefined || error instanceof DatabaseError) this.client.release();
    else void Promise.allSettled([this.#running]).then(() => this.client.release(true));
  }
}
