// Errors of SQLite that no test can provoke.

import { Database, SQLiteError } from "../../src/store/sqlite/driver.ts";

/** An error with a code: only SQLite can create an SQLiteError, so a real one is given another. */
export function sqliteError(code: string): SQLiteError {
  using empty = new Database(":memory:");
  try {
    empty.run("COMMIT");
  } catch (error) {
    // Its own properties are read-only.
    if (error instanceof SQLiteError)
      return Object.create(error, { code: { value: code }, message: { value: "simulated" } });
  }
  throw new Error("SQLite has accepted a COMMIT without a transaction");
}
