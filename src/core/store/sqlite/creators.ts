// The names of those that create plants, each with a small integer that is stored with its plants.

import { toCreatorName } from "../token-store.ts";
import type { Database } from "./driver.ts";

/** The key of a name, which is stored if it is new. Call it in a transaction that holds the write lock. */
export function creatorKey(database: Database, fullName: string): number {
  const name = toCreatorName(fullName);
  database.query("INSERT INTO creators (name) VALUES (?) ON CONFLICT (name) DO NOTHING").run(name);
  return Number(findCreatorKey(database, name));
}

/** The key of a name; undefined if it is not stored. */
export function findCreatorKey(database: Database, fullName: string): number | undefined {
  const row = database
    .query<{ id: bigint }, [string]>("SELECT id FROM creators WHERE name = ?")
    .get(toCreatorName(fullName));
  return row === null ? undefined : Number(row.id);
}
