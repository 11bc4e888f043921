// Sends one COPY … FROM STDIN after another, as a query of node-postgres. The rows follow without a
// wait for the server, so it is one round trip.

import type { Connection, Submittable } from "./driver.ts";

/** Members of node-postgres's Connection that its types lack. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

export class CopyIn implements Submittable {
  /** Resolves when the rows are committed. */
  readonly done: Promise<void>;
  readonly #sql: string;
  readonly #rows: readonly Buffer[];
  readonly #settle = Promise.withResolvers<void>();

  /** @param rows those of each COPY, in their order. */
  constructor(sql: string, rows: readonly Buffer[]) {
    this.#sql = sql;
    this.#rows = rows;
    this.done = this.#settle.promise;
  }

  submit(connection: Connection): void {
    const copying = connection as Connection & CopyConnection;
    connection.stream.cork();
    copying.query(this.#sql);
    // If the query fails before it wants them, the server ignores them.
    for (const rows of this.#rows) {
      copying.sendCopyFromChunk(rows);
      copying.endCopyFrom();
    }
    connection.stream.uncork();
  }

  /** The rows are on their way. */
  handleCopyInResponse(): void {}

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#settle.resolve();
  }

  handleError(error: Error): void {
    this.#settle.reject(error);
  }
}
