// Edits plants, and records each in the history, in one transaction. On Citus every edit is for one
// shard: `edits` is distributed as the plants are.

import { type ColumnValue, type FieldName, fieldNames, typeOf } from "../../contract/fields.ts";
import { toColumns } from "../../contract/plant.ts";
import { type EditOutcome, type EditRun, type PlantEdit, recordedPlant } from "../plant-edit.ts";
import { escapeLiteral, type PoolClient } from "./driver.ts";
import { rejectForOperator } from "./errors.ts";
import type { Primary } from "./primary.ts";

/** How long an edit waits for a row that another transaction has locked. */
const lockMsMax = 1_000;

/** When and by whom an edited plant was created. */
interface Creation {
  readonly created_at: string | null;
  readonly creator: number | null;
}

type Value = string | number | null;

/** See PlantStore.edit. Not repeated after a lost connection, as the edits may have been made. */
export function editPlants(
  primary: Primary,
  edits: readonly PlantEdit[],
  run: EditRun,
): Promise<EditOutcome[]> {
  const edit = async (connection: PoolClient): Promise<EditOutcome[]> => {
    const editedAt = Date.now();
    const creations = await writePlants(connection, edits);
    const records = edits.flatMap(({ id, expected, replacement }, index): Value[][] => {
      const creation = creations[index];
      if (creation === undefined) return [];
      const texts = [run.editor, recordedPlant(id, expected), recordedPlant(id, replacement)];
      const { created_at, creator } = creation;
      return [[run.run, run.first + index, String(id), editedAt, ...texts, created_at, creator]];
    });
    if (records.length > 0) await record(connection, records);
    const others = edits.filter((_, index) => creations[index] === undefined);
    const stored = others.length === 0 ? new Set() : await storedIds(connection, others);
    return edits.map(({ id, expected }, index) => {
      if (creations[index] !== undefined) return "done";
      // Another transaction may have restored it; the operator has to look again either way.
      return expected === undefined || stored.has(String(id)) ? "changed" : "missing";
    });
  };
  const options = { mode: "ISOLATION LEVEL READ COMMITTED", lockMs: lockMsMax };
  return primary.once((pool) => pool.transaction(edit, options)).catch(rejectForOperator);
}

/**
 * Makes those edits whose plants are the expected ones, and returns their creations. The statements
 * are one text, and so one round trip.
 */
async function writePlants(
  connection: PoolClient,
  edits: readonly PlantEdit[],
): Promise<(Creation | undefined)[]> {
  // Sorted by id: two transactions that edit the same plants then wait for each other.
  const inOrder = [...edits.entries()].toSorted(([, { id: one }], [, { id: other }]) => {
    if (one === other) return 0;
    return one < other ? -1 : 1;
  });
  const text = inOrder.map(([, edit]) => `${editSql(edit)} RETURNING created_at, creator`).join(";");
  // Several statements have an array of results; the types have one.
  const results = [await connection.query<Creation>(text)].flat();
  const creations: (Creation | undefined)[] = [];
  for (const [at, [index]] of inOrder.entries()) creations[index] = results[at]?.rows[0];
  return creations;
}

function editSql({ id, expected, replacement, creation }: PlantEdit): string {
  const values = replacement === undefined ? [] : toColumns(replacement).map(literal);
  if (expected === undefined) {
    const created = [creation?.createdAt, creation?.creator].map((value) => literal(value ?? null));
    return `INSERT INTO plants (id, ${fieldNames.join(", ")}, created_at, creator)
            VALUES (${[literal(id), ...values, ...created].join(", ")}) ON CONFLICT (id) DO NOTHING`;
  }
  const conditions = toColumns(expected).map((value, index) => {
    const field = fieldNames[index] as FieldName;
    const collation = typeOf(field) === "text" ? ' COLLATE "C"' : "";
    return `${field}${collation} IS NOT DISTINCT FROM ${literal(value)}`;
  });
  const where = `WHERE id = ${literal(id)} AND ${conditions.join(" AND ")}`;
  if (replacement === undefined) return `DELETE FROM plants ${where}`;
  const assignments = values.map((value, index) => `${fieldNames[index]} = ${value}`);
  return `UPDATE plants SET ${assignments.join(", ")} ${where}`;
}

/** A literal whose type is that of what it is compared with or assigned to. */
function literal(value: ColumnValue): string {
  return value === null ? "NULL" : escapeLiteral(String(value));
}

/** The ids of edits whose plants are stored. */
async function storedIds(connection: PoolClient, edits: readonly PlantEdit[]): Promise<Set<string>> {
  const { rows } = await connection.query<{ id: string }>(
    "SELECT id FROM plants WHERE id = ANY ($1::int8[])",
    [edits.map(({ id }) => String(id))],
  );
  return new Set(rows.map(({ id }) => id));
}

async function record(connection: PoolClient, rows: readonly (readonly Value[])[]): Promise<void> {
  let parameters = 0;
  const values = rows.map((row) => `(${row.map(() => `$${++parameters}`).join(", ")})`);
  await connection.query(
    `INSERT INTO edits (run, seq, plant_id, edited_at, editor, before, after, created_at, creator)
     VALUES ${values.join(", ")}`,
    rows.flat(),
  );
}
