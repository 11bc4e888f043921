// Edits plants, and records each edit in the history, in one transaction. On Citus every edit is
// for one shard: `edits` is distributed as the plants are.

import { type FieldValue, fieldNames, typeOf } from "../../contract/fields.ts";
import { type Plant, toColumns } from "../../contract/plant.ts";
import { type EditOutcome, type EditRun, type PlantEdit, recordedPlant } from "../plant-edit.ts";
import { begin, commit } from "./connection.ts";
import type { PoolClient } from "./driver.ts";
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
  const editing = primary.onceOnConnection(async (connection) => {
    await begin(connection, "ISOLATION LEVEL READ COMMITTED", { lockMs: lockMsMax });
    const outcomes: EditOutcome[] = [];
    const records: Value[][] = [];
    const editedAt = Date.now();
    for (const [index, edit] of inOneOrder(edits)) {
      const { id, expected, replacement } = edit;
      const statement = new EditStatement(edit);
      const { rows } = await connection.query<Creation>(statement.text, statement.values);
      const [creation] = rows;
      outcomes[index] = creation === undefined ? await reasonOf(connection, edit) : "done";
      if (creation === undefined) continue;
      const texts = [run.editor, recordedPlant(id, expected), recordedPlant(id, replacement)];
      const { created_at, creator } = creation;
      records.push([run.run, run.first + index, String(id), editedAt, ...texts, created_at, creator]);
    }
    if (records.length > 0) await record(connection, records);
    await commit(connection);
    return outcomes;
  });
  return editing.catch(rejectForOperator);
}

/** Sorts edits by id: two transactions that edit the same plants then wait for each other. */
function inOneOrder(edits: readonly PlantEdit[]): [number, PlantEdit][] {
  return [...edits.entries()].toSorted(([, { id: one }], [, { id: other }]) => {
    if (one === other) return 0;
    return one < other ? -1 : 1;
  });
}

/** Makes an edit if the stored plant is the expected one, and returns its creation. */
class EditStatement {
  readonly text: string;
  readonly values: (FieldValue | null)[];

  constructor({ id, expected, replacement, creation }: PlantEdit) {
    this.values = [String(id)];
    const returning = "RETURNING created_at, creator";
    if (expected === undefined) {
      const values = this.#parameters(replacement);
      const [createdAt, creator] = [creation?.createdAt, creation?.creator].map((value) =>
        this.#parameter(value?.toString() ?? null),
      );
      this.text = `INSERT INTO plants (id, ${fieldNames.join(", ")}, created_at, creator)
                   VALUES ($1, ${values.join(", ")}, ${createdAt}, ${creator})
                   ON CONFLICT (id) DO NOTHING ${returning}`;
      return;
    }
    const compared = fieldNames.map((field) => (typeOf(field) === "text" ? `${field} COLLATE "C"` : field));
    const conditions = this.#parameters(expected).map(
      (parameter, index) => `${compared[index]} IS NOT DISTINCT FROM ${parameter}`,
    );
    const where = `WHERE id = $1 AND ${conditions.join(" AND ")}`;
    const assignments = this.#parameters(replacement).map(
      (parameter, index) => `${fieldNames[index]} = ${parameter}`,
    );
    this.text =
      replacement === undefined
        ? `DELETE FROM plants ${where} ${returning}`
        : `UPDATE plants SET ${assignments.join(", ")} ${where} ${returning}`;
  }

  #parameters(plant: Plant | undefined): string[] {
    return plant === undefined ? [] : toColumns(plant).map((value) => this.#parameter(value));
  }

  #parameter(value: FieldValue | null): string {
    return `$${this.values.push(value)}`;
  }
}

/** Why an edit was not made. */
async function reasonOf(connection: PoolClient, { id, expected }: PlantEdit): Promise<EditOutcome> {
  if (expected === undefined) return "changed";
  const { rows } = await connection.query("SELECT 1 FROM plants WHERE id = $1", [String(id)]);
  // Another transaction may have restored it since; the operator has to look again either way.
  return rows.length === 0 ? "missing" : "changed";
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
