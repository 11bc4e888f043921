// Keeps the console's connection for reading open: opens it again after it has failed.

import type { PlantStore } from "../../store/plant-store.ts";
import { type SqlConnection, SqlTimeout } from "../../store/sql-connection.ts";

export class Reader {
  readonly #store: Pick<PlantStore, "openSql">;
  #opening: Promise<SqlConnection> | undefined;

  constructor(store: Pick<PlantStore, "openSql">) {
    this.#store = store;
  }

  /** Rejects with an OperatorError if it cannot be opened; the next call tries again. */
  open(): Promise<SqlConnection> {
    if (this.#opening !== undefined) return this.#opening;
    const opening = this.#store.openSql().then((connection) => {
      const forget = async (error: unknown): Promise<never> => {
        // The thread may have ended, or the database have moved.
        if (!(error instanceof SqlTimeout) && this.#opening === opening) {
          this.#opening = undefined;
          connection[Symbol.asyncDispose]().then(undefined, () => undefined);
        }
        throw error;
      };
      const { dialect, inTime } = connection;
      return {
        dialect,
        inTime,
        query: <Row extends object>(...call: Parameters<SqlConnection["query"]>) =>
          connection.query<Row>(...call).catch(forget),
        [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
      };
    });
    this.#opening = opening;
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    // The calls that end with the connection must not close it a second time.
    this.#opening = undefined;
    await (await opening?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }
}
