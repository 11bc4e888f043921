// Edits of stored plants, by operators and by clients, with the SQL of every engine.

import {
  type Collection,
  type Contract,
  collectionOf,
  type Field,
  type PlantColumns,
  type Values,
} from "../contract/contract.ts";
import { plantJson, toColumns, toValues } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { changeTimeColumn } from "./schema.ts";
import type { SqlStatement, SqlValue } from "./sql-connection.ts";
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

/** The run that the edits of a call are recorded under, in the table `edits`. */
export interface RunPart {
  /** The table of the collection that is edited. */
  readonly table: string;
  readonly run: string;
  /** Who edits, as JSON. */
  readonly editor: string;
  /** The number of the first edit; the others of the call follow it, each number once in a run. */
  readonly first: number;
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

/**
 * Makes edits and records them, in the caller's transaction. See PlantStore.edit. On Citus every
 * edit of a plant is for one shard, and `edits` stays on the coordinator.
 *
 * @param runs the run of all edits, or that of each.
 * @param collation follows the name of a text column, so that texts are compared by their bytes.
 */
export function* editWork(
  contract: Contract,
  edits: readonly PlantEdit[],
  runs: RunPart | readonly RunPart[],
  collation = "",
): SqlWork<EditOutcome[]> {
  const editedAt = Date.now();
  const all = edits.map((edit, index) => {
    const part = "run" in runs ? { ...runs, first: runs.first + index } : (runs[index] as RunPart);
    return { edit, part, collection: collectionOf(contract, part.table), index };
  });
  // Sorted by table and id, so that two transactions lock the same plants in the same order and
  // cannot deadlock.
  const inOrder = all.toSorted(
    ({ edit: { id: one }, part }, { edit: { id: other }, part: { table } }) =>
      Number(part.table > table) - Number(part.table < table) || Number(one > other) - Number(one < other),
  );
  const edited: (EditedRow | undefined)[] = [];
  for (const { index, edit, collection } of inOrder)
    edited[index] = (yield writeStatement(collection, edit, editedAt, collation))[0] as EditedRow | undefined;
  for (const { index, edit, part, collection } of all) {
    const row = edited[index];
    if (row === undefined) continue;
    const { id, expected, replacement } = edit;
    const { table, run, editor, first } = part;
    const before = expected === "any" ? toValues(collection, row) : expected;
    const texts = [editor, recordedPlant(collection, id, before), recordedPlant(collection, id, replacement)];
    const { created_at, creator } = row;
    yield {
      sql: `INSERT INTO edits (run, seq, collection, plant_id, edited_at, editor, before, after, created_at, creator)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      parameters: [run, first, table, String(id), editedAt, ...texts, created_at, creator],
    };
  }
  return edits.map((_, index) => (edited[index] === undefined ? "changed" : "done"));
}

/** Makes an edit if the stored plant is the expected one; only then it returns a row. */
function writeStatement(
  collection: Collection,
  { id, expected, replacement, creation }: PlantEdit,
  editedAt: number,
  collation: string,
): SqlStatement {
  const { table, fields } = collection;
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
    return { sql, parameters };
  }
  const conditions = (expected === "any" ? [] : toColumns(collection, expected)).map((value, index) => {
    const { column, type } = fields[index] as Field;
    return `${column}${type.column.postgres === "text" ? collation : ""} IS NOT DISTINCT FROM ${parameter(value)}`;
  });
  const where = `WHERE ${[...conditions, `id = ${parameter(id)}`].join(" AND ")} ${returning}`;
  if (replacement === undefined) return { sql: `DELETE FROM "${table}" ${where}`, parameters };
  const assignments = values.map((value, index) => `${columns[index]} = ${value}`);
  if (collection.keepsChangeTime) assignments.push(`${changeTimeColumn} = ${editedAt}`);
  return { sql: `UPDATE "${table}" SET ${assignments.join(", ")} ${where}`, parameters };
}

/** A plant in the history: the body that would create it. */
function recordedPlant(collection: Collection, id: PlantId, values: Values | undefined): string | null {
  return values === undefined ? null : plantJson(collection, { id, values });
}
