// A SQL connection to a store for the length of a block.

import type { PlantStore } from "../core/store/plant-store.ts";
import type { SqlAccess, SqlConnection } from "../core/store/sql-connection.ts";

/**
 * Opens a connection that is closed at the end of the block: `await using read = await openSql(…)`.
 */
export async function openSql(
  store: Pick<PlantStore, "openSql">,
  access: SqlAccess,
): Promise<AsyncDisposable & { readonly sql: SqlConnection }> {
  const sql = await store.openSql(access);
  return { sql, [Symbol.asyncDispose]: () => sql.close() };
}
