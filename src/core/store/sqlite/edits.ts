// Edits plants, and records each in the history, in one transaction.

import { type EditOutcome, type EditRun, editWork, type PlantEdit } from "../plant-edit.ts";
import type { Database } from "./driver.ts";
import { runImmediateTransaction } from "./immediate-transaction.ts";
import { runStatement } from "./sql-statements.ts";

/** See PlantStore.edit. Throws as runImmediateTransaction does. */
export function editPlants(database: Database, edits: readonly PlantEdit[], run: EditRun): EditOutcome[] {
  return runImmediateTransaction(database, () => {
    const work = editWork(edits, run);
    let step = work.next();
    while (step.done !== true)
      step = work.next(step.value.map((statement) => runStatement(database, statement)));
    return step.value;
  });
}
