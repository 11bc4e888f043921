// The migration of rows to schema version 4, which records with each plant when and by whom it was
// created: the SQL of every engine.

import { storeCreatorKey } from "./sql-tokens.ts";
import { query, type SqlWork } from "./sql-work.ts";

export function* storeCreatorsOfTokens(): SqlWork<void> {
  const rows = yield* query<{ name: string }>("SELECT DISTINCT name FROM tokens WHERE creator IS NULL");
  for (const { name } of rows) {
    const key = yield* storeCreatorKey(name);
    yield* query("UPDATE tokens SET creator = $1 WHERE name = $2 AND creator IS NULL", [key, name]);
  }
}

/** Moves what the optional index "newest" of earlier versions recorded into the plants. */
export function* takeOverArrivals(): SqlWork<void> {
  const rows = yield* query<{ token: string }>(
    "SELECT DISTINCT token FROM plant_arrivals WHERE token IS NOT NULL",
  );
  for (const { token } of rows) yield* storeCreatorKey(token);
  // Ordered by an expression: without statistics PostgreSQL would read the index of positions for
  // each plant, from its end.
  yield* query(
    `UPDATE plants SET (created_at, creator) = (
       SELECT created_at, (SELECT creators.id FROM creators WHERE name = token)
       FROM plant_arrivals WHERE plant_arrivals.id = plants.id ORDER BY position + 0 DESC LIMIT 1
     ) WHERE created_at IS NULL AND id IN (SELECT id FROM plant_arrivals)`,
  );
}
