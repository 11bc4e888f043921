// Changes and deletes stored plants, and records each edit in the history, with the SQL of every
// engine.

import { OperatorError } from "../../base/operator-error.ts";
import { type Collection, type Contract, collectionOf, type Values } from "../../contract/contract.ts";
import { toColumns, valuesJson } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlStatement } from "../sql-connection.ts";
import { keepsKeys, keyColumn } from "./create-key.ts";
import {
  type Creation,
  nextVersion,
  type StoredPlant,
  type StoredRow,
  storedColumns,
  toStored,
  versionColumn,
  versionSql,
} from "./plant-rows.ts";
import { forCollection, list, type SqlWork } from "./sql-work.ts";

/** A change or a deletion of one plant, or the creation of one that is not there. */
export type PlantEdit = ConditionalEdit | UnconditionalDeletion;

/** An edit that is made only if the stored plant has the expected version, or if there is none. */
export interface ConditionalEdit {
  readonly id: PlantId;
  /** The plant as it was read; undefined if no plant must be stored. */
  readonly expected: StoredPlant | undefined;
  /** Undefined to delete the plant. */
  readonly replacement: Values | undefined;
  /** Required where nothing is stored. */
  readonly creation?: Creation;
  /** See nextVersion. */
  readonly version: bigint;
  /** Present in an undo: the version that it undoes, and the one whose plant, or deletion, it restores. */
  readonly undo?: { readonly version: bigint; readonly restores: bigint | undefined };
}

/** A deletion of whatever plant is stored. It alone can do without: it returns the deleted row. */
interface UnconditionalDeletion {
  readonly id: PlantId;
  readonly expected: "any";
  readonly replacement: undefined;
}

/** An edit with what the history says of it, in the table `edits`. */
export interface RecordedEdit {
  /** The table of the collection that is edited. */
  readonly table: string;
  /** The number of the contract that the edit was checked by. */
  readonly contractNumber: number | undefined;
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

/** The store has another contract than the one that a plant was checked by: nothing was written. */
export class ContractChanged extends OperatorError {
  constructor() {
    super("the contract of the store has changed; try again");
  }
}

/** Throws ContractChanged if an edit was checked by another contract. */
export function assertCurrent({ number }: Contract, edits: readonly RecordedEdit[]): void {
  const isStale = ({ contractNumber: own }: RecordedEdit) => own !== undefined && own !== number;
  if (edits.some(isStale)) throw new ContractChanged();
}

/** Makes edits and records them, in the caller's transaction. See PlantStore.edit. */
export function* editWork(contract: Contract, edits: readonly RecordedEdit[]): SqlWork<EditOutcome[]> {
  const { result, last } = yield* recordedEdits(contract, edits);
  yield last;
  return result;
}

/**
 * Makes edits, and returns the statements that record them, which end the transaction. On Citus every
 * edit of a plant is for one shard, and `edits` stays on the coordinator.
 */
export function* recordedEdits(
  contract: Contract,
  edits: readonly RecordedEdit[],
): SqlWork<{ readonly result: EditOutcome[]; readonly last: readonly SqlStatement[] }> {
  assertCurrent(contract, edits);
  // Sorted by table and id, so that two transactions lock the same plants in the same order and
  // cannot deadlock.
  const inOrder = [...edits.entries()].toSorted(
    ([, { table: oneTable, edit: one }], [, { table, edit: other }]) =>
      Number(oneTable > table) - Number(oneTable < table) ||
      Number(one.id > other.id) - Number(one.id < other.id),
  );
  const written = yield inOrder.map(([, edit]) => writeStatement(contract, edit));
  const rows: (object | undefined)[] = [];
  for (const [place, [index]] of inOrder.entries()) rows[index] = written[place]?.[0];
  const last = edits.flatMap((edit, index) => {
    const row = rows[index];
    return row === undefined ? [] : [recordStatement(contract, edit, row as StoredRow)];
  });
  return { last, result: edits.map((_, index) => (rows[index] === undefined ? "changed" : "done")) };
}

/**
 * Records an edit that has been made.
 *
 * @param row the deleted one, where any was to be deleted.
 */
function recordStatement(
  contract: Contract,
  { table, edit, run, seq, editor, editedAt }: RecordedEdit,
  row: StoredRow,
): SqlStatement {
  const collection = collectionOf(contract, table);
  const before = edit.expected === "any" ? toStored(collection, row) : edit.expected;
  const version = edit.expected === "any" ? nextVersion(before?.version, editedAt) : edit.version;
  const { undo } = edit as ConditionalEdit;
  const { createdAt, creator, key } = before ?? creationOf(edit);
  const texts = [before?.values, edit.replacement].map((values) => values && valuesJson(collection, values));
  return {
    sql: `INSERT INTO edits (collection, plant_id, version, version_before, restores, run, seq, edited_at, editor,
            before, after, created_at, creator, create_key)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    parameters: [
      ...[table, String(edit.id), version, before?.version ?? undo?.version ?? null, undo?.restores ?? null],
      ...[run, seq, editedAt, editor],
      ...texts.map((text) => text ?? null),
      createdAt,
      creator,
      key ?? null,
    ],
    isPrepared: true,
  };
}

function creationOf(edit: PlantEdit): Creation {
  if (edit.expected === "any" || edit.creation === undefined)
    throw new Error("A plant that is restored needs its creation");
  return edit.creation;
}

/** Makes an edit if the stored plant has the expected version; only then it returns a row. */
function writeStatement(contract: Contract, { table, edit }: RecordedEdit): SqlStatement {
  const collection = collectionOf(contract, table);
  const { id, expected, replacement } = edit;
  if (expected === "any") return { sql: deleteAnySql(collection), parameters: [id], isPrepared: true };
  if (replacement === undefined) {
    if (expected === undefined) throw new Error("A deletion needs a plant");
    return { sql: deleteSql(collection), parameters: [expected.version, id], isPrepared: true };
  }
  const values = [...toColumns(collection, replacement), edit.version];
  if (expected === undefined) {
    const { createdAt, creator, key } = creationOf(edit);
    const parameters = [...values, createdAt, creator, id];
    if (keepsKeys(collection)) parameters.push(key ?? null);
    return { sql: insertSql(collection), parameters, isPrepared: true };
  }
  return { sql: updateSql(collection), parameters: [expected.version, id, ...values], isPrepared: true };
}

const deleteAnySql = forCollection(
  (collection) =>
    `DELETE FROM "${collection.table}" WHERE id = $1${isMarked(collection)} RETURNING ${storedColumns(collection)}`,
);

const deleteSql = forCollection(
  (collection) => `DELETE FROM "${collection.table}" WHERE ${isExpected(collection)} RETURNING id`,
);

const updateSql = forCollection((collection) => {
  const assignments = editedColumns(collection).map((column, index) => `${column} = $${index + 3}`);
  return `UPDATE "${collection.table}" SET ${assignments.join(", ")} WHERE ${isExpected(collection)} RETURNING id`;
});

const insertSql = forCollection((collection) => {
  const hasKey = keepsKeys(collection);
  const { table, marker } = collection;
  const own = [...editedColumns(collection), "created_at", "creator", "id", ...(hasKey ? [keyColumn] : [])];
  const into = marker === undefined ? own : [`"${marker}"`, ...own];
  const given = list(own).replace("(", marker === undefined ? "(" : "(NULL, ");
  // Another plant may have the id, or the key, which has created one since.
  return `INSERT INTO "${table}" (${into.join(", ")})
          VALUES ${given} ON CONFLICT ${hasKey ? "" : "(id)"} DO NOTHING RETURNING id`;
});

function editedColumns({ fields }: Collection): string[] {
  return [...fields.map(({ column }) => column), versionColumn];
}

function isExpected(collection: Collection): string {
  return `${versionSql} = $1 AND id = $2${isMarked(collection)}`;
}

/** The statement fails once the contract has restricted the table in another way. */
function isMarked({ marker }: Collection): string {
  return marker === undefined ? "" : ` AND "${marker}" IS NULL`;
}
