// Edits plants, and records each in the history, in one transaction.

import { fieldNames, type PlantColumns } from "../../contract/fields.ts";
import { plantsEqual, toColumns, toNewPlant } from "../../contract/plant.ts";
import { type EditOutcome, type EditRun, type PlantEdit, recordedPlant } from "../plant-edit.ts";
import type { Database } from "./driver.ts";
import { runImmediateTransaction } from "./immediate-transaction.ts";

type StoredRow = PlantColumns & { readonly created_at: bigint | null; readonly creator: bigint | null };

const columnList = fieldNames.join(", ");
const parameters = fieldNames.map(() => "?").join(", ");
const assignments = fieldNames.map((field) => `${field} = ?`).join(", ");

/** See PlantStore.edit. Throws as runImmediateTransaction does. */
export function editPlants(
  database: Database,
  edits: readonly PlantEdit[],
  { run, editor, first }: EditRun,
): EditOutcome[] {
  return runImmediateTransaction(database, () => {
    const editedAt = BigInt(Date.now());
    return edits.map((edit, index) => {
      const { id, expected, replacement } = edit;
      const stored = selectPlant(database, id);
      const outcome = outcomeOf(edit, stored);
      if (outcome !== "done") return outcome;
      writePlant(database, edit);
      database
        .query(
          `INSERT INTO edits (run, seq, plant_id, edited_at, editor, before, after, created_at, creator)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          run,
          BigInt(first + index),
          id,
          editedAt,
          editor,
          recordedPlant(id, expected),
          recordedPlant(id, replacement),
          stored?.created_at ?? null,
          stored?.creator ?? null,
        );
      return outcome;
    });
  });
}

function selectPlant(database: Database, id: bigint): StoredRow | undefined {
  const sql = `SELECT ${columnList}, created_at, creator FROM plants WHERE id = ?`;
  return database.query<StoredRow, [bigint]>(sql).get(id) ?? undefined;
}

function outcomeOf({ id, expected }: PlantEdit, stored: StoredRow | undefined): EditOutcome {
  if (expected === undefined) return stored === undefined ? "done" : "changed";
  if (stored === undefined) return "missing";
  return plantsEqual(toNewPlant(id, stored), expected) ? "done" : "changed";
}

function writePlant(database: Database, { id, expected, replacement, creation }: PlantEdit): void {
  if (replacement === undefined) {
    database.query("DELETE FROM plants WHERE id = ?").run(id);
    return;
  }
  const values = toColumns(replacement);
  if (expected !== undefined) {
    database.query(`UPDATE plants SET ${assignments} WHERE id = ?`).run(...values, id);
    return;
  }
  database
    .query(`INSERT INTO plants (id, created_at, creator, ${columnList}) VALUES (?, ?, ?, ${parameters})`)
    .run(id, creation?.createdAt ?? null, creation?.creator ?? null, ...values);
}
