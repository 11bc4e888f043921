// Finds the edits whose plants another transaction has locked.

import type { RecordedEdit } from "../shared/plant-edit.ts";
import type { SqlWork } from "../shared/sql-work.ts";

/**
 * Returns the edits of plants that another transaction has locked. Each plant is looked up by itself:
 * Citus locks rows of one shard only.
 */
export function* lockedPlants(edits: readonly RecordedEdit[]): SqlWork<Set<RecordedEdit>> {
  const found = yield edits.flatMap(({ table, edit: { id } }) =>
    [" FOR UPDATE SKIP LOCKED", ""].map((suffix) => ({
      sql: `SELECT 1 FROM "${table}" WHERE id = $1${suffix}`,
      parameters: [id],
    })),
  );
  const rows = (index: number) => found[index]?.length ?? 0;
  return new Set(edits.filter((_, index) => rows(2 * index) < rows(2 * index + 1)));
}
