// Describes the collections that the contract of a store no longer has: their tables are kept.

import type { Contract } from "../contract/contract.ts";
import { countPlants } from "../plants/stored-plants.ts";
import { type SqlConnection, SqlTimeout } from "../store/sql-connection.ts";

/** A server that stops meanwhile waits for it. Some 50 million rows are counted in this time. */
const countMsMax = 5_000;

/** A sentence for each of them, with the number of its rows. Rejects with an OperatorError. */
export async function describeGoneCollections(
  { collections }: Contract,
  sql: SqlConnection,
): Promise<string[]> {
  const tables = await sql.query<{ name: string; path: string }>(
    "SELECT name, path FROM collections ORDER BY name",
  );
  const sentences: string[] = [];
  for (const { name: table, path } of tables) {
    if (collections.some((each) => each.table === table)) continue;
    const rows = await countRows(table, sql);
    sentences.push(`the contract no longer has ${path}; its table "${table}" is kept, with ${rows}`);
  }
  return sentences;
}

async function countRows(table: string, sql: SqlConnection): Promise<string> {
  try {
    const count = await countPlants({ table }, sql, countMsMax);
    return `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`;
  } catch (error) {
    if (!(error instanceof SqlTimeout)) throw error;
    return `more rows than are counted in ${countMsMax / 1_000} seconds`;
  }
}
