// Isolates what fails: where one item may be the reason, halves are run apart until it is alone.

import type { Queries } from "./host-pool.ts";

/**
 * Runs items together, or in halves, and returns their results in order. Rejects with an error that no
 * single item has caused.
 *
 * @param run is told whether it gets a part, after all items have failed together.
 * @param refusal the result of an item that has caused an error by itself; undefined for other errors.
 * @param onRefused called with the error of an item that is alone.
 */
export async function apart<Item, Result>(
  items: readonly Item[],
  run: (items: readonly Item[], isPart: boolean) => Promise<Result[]>,
  refusal: (error: unknown) => Promise<Result | undefined>,
  onRefused: (error: unknown) => void = () => undefined,
  isPart = false,
): Promise<Result[]> {
  try {
    return await run(items, isPart);
  } catch (error) {
    const refused = await refusal(error);
    if (refused === undefined) throw error;
    if (isPart && items.length === 1) {
      onRefused(error);
      return [refused];
    }
    const middle = Math.ceil(items.length / 2);
    const results: Result[] = [];
    for (const half of [items.slice(0, middle), items.slice(middle)].filter(({ length }) => length > 0))
      results.push(...(await apart(half, run, refusal, onRefused, true)));
    return results;
  }
}

/** How long parts of what has waited for a lock wait for one: whoever has it does not let it go soon. */
export const partLockMs = 20;

/** The modes of locks on a table that keep rows from being written. */
const tableLocks = "'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'";

/** Whether another transaction has, or waits for, a lock on a whole table: then no row is the reason. */
export async function isTableLocked(queries: Queries): Promise<boolean> {
  const { rows } = await queries.query(
    `SELECT FROM pg_locks WHERE locktype = 'relation' AND mode IN (${tableLocks})
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows.length > 0;
}
