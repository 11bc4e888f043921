// The worker of a SqlConnection that reads: a slow statement delays neither commits nor network.

import { Database } from "./driver.ts";
import { readError } from "./errors.ts";
import { type SqlCall, SqlRunner } from "./sql-statements.ts";
import { serveCalls } from "./worker-rpc.ts";

serveCalls(openSql);

export async function openSql(path: string) {
  try {
    const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
    // SQLite opens the WAL with the first statement: later there may be no descriptor for it.
    database.query("SELECT 1 FROM sqlite_schema").get();
    const runner = new SqlRunner(database);
    return {
      sql: {
        run: async (call: SqlCall) => runner.read(call),
        close: async () => database.close(true),
      },
    };
  } catch (error) {
    throw readError(error);
  }
}
