// How many plants the command `plantstore import` has created: its process counts them here for the charts of running servers.
// The table is created by the first import, independent of the schema version.

import type { Pool } from "./driver.ts";

/** Adds to the number. Rejects if the role may not create the table. */
export async function addImported(pool: Pool, created: number): Promise<void> {
  // Only where there is none: a role without the privilege may use the table of another one.
  if (!(await exists(pool)))
    await pool.query(
      "CREATE TABLE IF NOT EXISTS imported_plants (id integer PRIMARY KEY, created bigint NOT NULL)",
    );
  await pool.query(
    `INSERT INTO imported_plants (id, created) VALUES (1, $1)
     ON CONFLICT (id) DO UPDATE SET created = imported_plants.created + excluded.created`,
    [created],
  );
}

/** 0 if the role may not read the table. */
export async function importedTotal(pool: Pool): Promise<number> {
  if (!(await exists(pool))) return 0;
  const { rows } = await pool.query<{ created: string }>("SELECT created FROM imported_plants");
  return Number(rows[0]?.created ?? 0);
}

async function exists(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ exists: boolean }>(
    "SELECT coalesce(has_table_privilege(to_regclass('imported_plants'), 'SELECT'), false) AS exists",
  );
  return rows[0]?.exists ?? false;
}
