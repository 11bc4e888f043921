// Changes and deletes stored plants, and records each edit in the history, with the SQL of every
// engine.

import {
  type Collection,
  type Contract,
  collectionOf,
  type Field,
  type PlantColumns,
  type Values,
} from "../../contract/contract.ts";
import { plantJson, toColumns, toValues } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlStatement, SqlValue } from "../sql-connection.ts";
import { changeTimeColumn } from "./plant-rows.ts";
import type { SqlWork } from "./sql-work.ts";

/** A change or a deletion of one plant, or the creation of one that is not there. */
export type PlantEdit = ConditionalEdit | UnconditionalDeletion;

/** An edit that is made only if the expected plant is stored. */
interface ConditionalEdit {
  readonly id: PlantId;
  /** Undefined if no plant must be stored. */
  readonly expected: Values | undefined;
  /** Undefined to delete the plant. */
  readonly replacement: Values | undefined;
  /** Required where nothing is stored. */
  readonly creation?: Creation;
}

/**
 * A deletion of whatever plant is stored. Only a deletion can do without an expected plant: it
 * returns the row that it deletes, for the history, and a change returns the row after it.
 */
interface UnconditionalDeletion {
  readonly id: PlantId;
  readonly expected: "any";
  readonly replacement: undefined;
  readonly creation?: undefined;
}

/** When and by whom a plant was created, as the columns of a row have it. */
export interface Creation {
  readonly createdAt: bigint;
  readonly creator: bigint | null;
}

/** An edit with what the history says of it, in the table `edits`. */
export interface RecordedEdit {
  /** The table of the collection that is edited. */
  readonly table: string;
  readonly edit: PlantEdit;
  readonly run: string;
  /** Its number in the run. */
  readonly seq: number;
  /** Who edits, as JSON. */
  readonly editor: string;
  /** Milliseconds since the epoch. */
  readonly editedAt: number;
}

/**
 * - `done`: the edit is on stable storage, with its row in the history.
 * - `changed`: the stored plant, or that there is none, is not what was expected; it is unchanged.
 */
export type EditOutcome = "done" | "changed";

/**
 * Edits in one call: on SQLite the batches of a server wait for them, some 5 ms. With plants of the
 * largest bodies a call takes 700 MB.
 */
export const editsMax = 200;

/** An edited plant as it was before a deletion or after a change, with its creation. */
type EditedRow = PlantColumns & {
  readonly created_at: SqlValue;
  readonly creator: SqlValue;
};

/** Makes edits and records them, in the caller's transaction. See PlantStore.edit. */
export function* editWork(contract: Contract, edits: readonly RecordedEdit[]): SqlWork<EditOutcome[]> {
  const { result, last } = yield* recordedEdits(contract, edits);
  yield last;
  return result;
}

/**
 * Makes edits, and returns the statements that record them, which end the transaction. On Citus every
 * edit of a plant is for one shard, and `edits` stays on the coordinator.
 *
 * @param collation follows the name of a text column, so that texts are compared by their bytes.
 */
export function* recordedEdits(
  contract: Contract,
  edits: readonly RecordedEdit[],
  collation = "",
): SqlWork<{ readonly result: EditOutcome[]; readonly last: readonly SqlStatement[] }> {
  // Sorted by table and id, so that two transactions lock the same plants in the same order and
  // cannot deadlock.
  const inOrder = [...edits.entries()].toSorted(
    ([, { table: oneTable, edit: one }], [, { table, edit: other }]) =>
      Number(oneTable > table) - Number(oneTable < table) ||
      Number(one.id > other.id) - Number(one.id < other.id),
  );
  const written = yield inOrder.map(([, edit]) => writeStatement(contract, edit, collation));
  const edited: (EditedRow | undefined)[] = [];
  for (const [place, [index]] of inOrder.entries())
    edited[index] = written[place]?.[0] as EditedRow | undefined;
  const last = edits.flatMap((edit, index) => {
    const row = edited[index];
    return row === undefined ? [] : [recordStatement(contract, edit, row)];
  });
  return { last, result: edits.map((_, index) => (edited[index] === undefined ? "changed" : "done")) };
}

/** Records an edit that has been made. */
function recordStatement(
  contract: Contract,
  { table, edit: { id, expected, replacement }, run, seq, editor, editedAt }: RecordedEdit,
  row: EditedRow,
): SqlStatement {
  const collection = collectionOf(contract, table);
  const before = expected === "any" ? toValues(collection, row) : expected;
  const texts = [editor, recordedPlant(collection, id, before), recordedPlant(collection, id, replacement)];
  return {
    sql: `INSERT INTO edits (run, seq, collection, plant_id, edited_at, editor, before, after, created_at, creator)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    parameters: [run, seq, table, String(id), editedAt, ...texts, row.created_at, row.creator],
    isPrepared: true,
  };
}

/** Makes an edit if the stored plant is the expected one; only then it returns a row. */
function writeStatement(
  contract: Contract,
  { table, edit: { id, expected, replacement, creation }, editedAt }: RecordedEdit,
  collation: string,
): SqlStatement {
  const collection = collectionOf(contract, table);
  const { fields } = collection;
  const columns = fields.map(({ column }) => column);
  const parameters: SqlValue[] = [];
  const parameter = (value: SqlValue) => `$${parameters.push(value)}`;
  const returning = `RETURNING ${["created_at", "creator", ...columns].join(", ")}`;
  const values = replacement === undefined ? [] : toColumns(collection, replacement).map(parameter);
  if (expected === undefined) {
    if (creation === undefined) throw new Error("A plant that is restored needs its creation");
    const { createdAt, creator } = creation;
    const others = [createdAt, creator, id].map(parameter);
    const sql = `INSERT INTO "${table}" (${columns.join(", ")}, created_at, creator, id)
                 VALUES (${[...values, ...others].join(", ")}) ON CONFLICT (id) DO NOTHING ${returning}`;
    return { sql, parameters, isPrepared: true };
  }
  const conditions = (expected === "any" ? [] : toColumns(collection, expected)).map((value, index) => {
    const { column, type } = fields[index] as Field;
    return `${column}${type.column.postgres === "text" ? collation : ""} IS NOT DISTINCT FROM ${parameter(value)}`;
  });
  const where = `WHERE ${[...conditions, `id = ${parameter(id)}`].join(" AND ")} ${returning}`;
  if (replacement === undefined)
    return { sql: `DELETE FROM "${table}" ${where}`, parameters, isPrepared: true };
  const assignments = values.map((value, index) => `${columns[index]} = ${value}`);
  if (collection.keepsChangeTime) assignments.push(`${changeTimeColumn} = ${parameter(editedAt)}`);
  return { sql: `UPDATE "${table}" SET ${assignments.join(", ")} ${where}`, parameters, isPrepared: true };
}

/** A plant in the history: the body that would create it. */
function recordedPlant(collection: Collection, id: PlantId, values: Values | undefined): string | null {
  return values === undefined ? null : plantJson(collection, { id, values });
}
