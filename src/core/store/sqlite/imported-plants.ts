// How many plants the command `plantstore import` has created: its process counts them here for the charts of running servers.
// The table is created by the first import, independent of the schema version.

import { runImmediateTransaction } from "./connection.ts";
import type { Database } from "./driver.ts";

const create =
  "CREATE TABLE IF NOT EXISTS imported_plants (id INTEGER PRIMARY KEY, created INTEGER NOT NULL) STRICT";

/** Adds to the number. */
export function addImported(database: Database, created: number): void {
  runImmediateTransaction(database, () => {
    database.run(create);
    database
      .query(
        `INSERT INTO imported_plants (id, created) VALUES (1, ?)
         ON CONFLICT (id) DO UPDATE SET created = imported_plants.created + excluded.created`,
      )
      .run(created);
  });
}

export function importedTotal(database: Database): number {
  const exists = database.query("SELECT 1 FROM sqlite_schema WHERE name = 'imported_plants'").get() !== null;
  if (!exists) return 0;
  const total = database.query<{ created: bigint }, []>("SELECT created FROM imported_plants").get();
  return Number(total?.created ?? 0);
}
