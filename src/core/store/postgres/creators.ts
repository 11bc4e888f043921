// The names of those that create plants, each with a small integer that is stored with its plants.

import { toCreatorName } from "../token-store.ts";
import type { Pool } from "./driver.ts";

/** The key of a name, which is stored if it is new. */
export async function creatorKey(connection: Pick<Pool, "query">, fullName: string): Promise<number> {
  const name = toCreatorName(fullName);
  for (;;) {
    const found = await findCreatorKey(connection, name);
    if (found !== undefined) return found;
    // No sequence, which would lose a number at each conflict. Another server may insert the same number or name meanwhile.
    await connection.query(
      `INSERT INTO creators (id, name) SELECT coalesce(max(id), 0) + 1, $1::text FROM creators ON CONFLICT DO NOTHING`,
      [name],
    );
  }
}

async function findCreatorKey(connection: Pick<Pool, "query">, name: string): Promise<number | undefined> {
  const { rows } = await connection.query<{ id: number | string }>(
    "SELECT id FROM creators WHERE name = $1",
    [name],
  );
  return rows[0] === undefined ? undefined : Number(rows[0].id);
}
