// Deletes from a file what a contract has dropped, in transactions between which creates go on: one that
// drops the column of a large table would rewrite all of it. SQLite overwrites what is deleted, see
// secure_delete in open-file.ts.

import { droppedPrefix, inParts, type OnProgress } from "../migration/migration.ts";
import { query, type SqlWork } from "../shared/sql-work.ts";
import type { Database } from "./driver.ts";

type Transaction = <Result>(work: () => SqlWork<Result>, mode?: "read" | "write") => Promise<Result>;

/**
 * The column of a table with at most so many rows is dropped in one transaction, of some 0.1 s. In a
 * larger one it stays, without a value.
 */
const rewrittenRowsMax = 100_000;

/** How long to wait until the write-ahead log, which has pages from before, can be emptied. */
const truncateMsMax = 10_000;

export async function erase(
  database: Database,
  transaction: Transaction,
  onProgress: OnProgress,
): Promise<string[]> {
  // Another process may hold the lock for writing while there is nothing to delete.
  const read = <Row extends object>(sql: string) => transaction(() => query<Row>(sql), "read");
  const tables = await read<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, ${droppedPrefix.length}) = '${droppedPrefix}'`,
  );
  const columns = await read<{ name: string; column: string }>(
    `SELECT collections.name, info.name AS "column"
     FROM collections JOIN pragma_table_info(collections.name) AS info
     WHERE substr(info.name, 1, ${droppedPrefix.length}) = '${droppedPrefix}'`,
  );
  if (tables.length + columns.length === 0) return [];
  const counts = new Map<string, number>();
  for (const { name } of [...tables, ...columns]) {
    const [row] = await read<{ rows: bigint }>(`SELECT count(*) AS rows FROM "${name}"`);
    counts.set(name, Number(row?.rows));
  }
  const all = [...tables, ...columns].reduce((sum, { name }) => sum + (counts.get(name) ?? 0), 0);
  let done = 0;
  const onPart = (rows: number) => {
    done += rows;
    onProgress(done, all);
  };
  for (const { name } of tables) {
    await inParts(transaction, name, (where) => [`DELETE FROM "${name}" WHERE true${where}`], onPart);
    await transaction(() => query(`DROP TABLE "${name}"`));
  }
  for (const { name, column } of columns) {
    const empty = (where: string) => [
      `UPDATE "${name}" SET "${column}" = NULL WHERE "${column}" IS NOT NULL${where}`,
    ];
    await inParts(transaction, name, empty, onPart);
    if ((counts.get(name) ?? 0) <= rewrittenRowsMax)
      await transaction(() => query(`ALTER TABLE "${name}" DROP COLUMN "${column}"`));
  }
  return await emptyWal(database);
}

/** Empties the write-ahead log; a sentence if readers did not allow it in time. */
export async function emptyWal(database: Database): Promise<string[]> {
  const deadline = performance.now() + truncateMsMax;
  for (;;) {
    const [[isBusy] = []] = database.query("PRAGMA wal_checkpoint(TRUNCATE)").values();
    if (Number(isBusy) === 0) return [];
    if (performance.now() > deadline)
      return [
        "the write-ahead log of the store still has what was erased, as the store is in use; they are gone when all servers have stopped once",
      ];
    await Bun.sleep(5);
  }
}
