// Erases edits from the history, in transactions between which creates go on, with the SQL of every
// engine.

import type { SqlStatement, SqlValue } from "../sql-connection.ts";
import { query, type SqlWork } from "./sql-work.ts";

/** Edits that the history is to forget. */
export interface ForgottenEdits {
  /** The plants that were edited, by their ids as texts; undefined for all. */
  readonly plants: { readonly table: string; readonly ids: readonly string[] } | undefined;
  /** Only edits before this time, in milliseconds since the epoch. */
  readonly before: number | undefined;
}

/** Edits, and bytes of their plants unless one has more, of one transaction. */
const editsMax = 500;
const bytesMax = 2 ** 22;

/** Counts them and their runs. */
export function countForgotten(forgotten: ForgottenEdits): SqlStatement {
  const { condition, parameters } = conditionOf(forgotten);
  return {
    sql: `SELECT count(*) AS edits, count(DISTINCT run) AS runs FROM edits WHERE ${condition}`,
    parameters,
  };
}

/** Erases the first of them, and returns how many: 0 if none is left. */
export function* forgetWork(forgotten: ForgottenEdits): SqlWork<number> {
  const { condition, parameters } = conditionOf(forgotten);
  const order = forgotten.plants === undefined ? "edited_at, run, seq" : "plant_id, version";
  const sizes = yield* query<{ bytes: bigint | number }>(
    `SELECT coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0) AS bytes
     FROM edits WHERE ${condition} ORDER BY ${order} LIMIT ${editsMax}`,
    parameters,
  );
  let bytes = 0;
  const over = sizes.findIndex((size, index) => {
    bytes += Number(size.bytes);
    return index > 0 && bytes > bytesMax;
  });
  if (sizes.length === 0) return 0;
  const key = "plant_id, collection, version";
  const erased = yield* query(
    `DELETE FROM edits WHERE (${key}) IN
       (SELECT ${key} FROM edits WHERE ${condition} ORDER BY ${order} LIMIT ${over === -1 ? editsMax : over})
     RETURNING version`,
    parameters,
  );
  return erased.length;
}

function conditionOf({ plants, before }: ForgottenEdits) {
  const parameters: SqlValue[] = [];
  const parameter = (value: SqlValue) => `$${parameters.push(value)}`;
  const conditions: string[] = [];
  if (plants !== undefined) {
    conditions.push(`plant_id IN (${plants.ids.map(parameter).join(", ")})`);
    conditions.push(`collection = ${parameter(plants.table)}`);
  }
  if (before !== undefined) conditions.push(`edited_at < ${parameter(before)}`);
  return { condition: conditions.join(" AND ") || "true", parameters };
}
