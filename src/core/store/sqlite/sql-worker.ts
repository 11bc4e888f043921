// The worker of a SqlConnection that reads: a slow statement delays neither commits nor network.

import { Database } from "./driver.ts";
import { readError } from "./errors.ts";
import { type SqlCall, SqlRunner } from "./sql-statements.ts";
import { serveCalls } from "./worker-rpc.ts";

export interface SqlWorker {
  readonly sql: {
    open(path: string): Promise<void>;
    run(call: SqlCall): Promise<object[]>;
    close(): Promise<void>;
  };
}

let opened: { readonly database: Database; readonly runner: SqlRunner } | undefined;

serveCalls<SqlWorker>({
  sql: {
    async open(path) {
      try {
        const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
        // SQLite opens the WAL with the first statement: later there may be no descriptor for it.
        database.query("SELECT 1 FROM sqlite_schema").get();
        opened = { database, runner: new SqlRunner(database) };
      } catch (error) {
        throw readError(error);
      }
    },
    run: async (call) => connection().runner.read(call),
    close: async () => connection().database.close(true),
  },
});

function connection(): NonNullable<typeof opened> {
  if (opened === undefined) throw new Error("The worker was called before it had opened the store");
  return opened;
}
