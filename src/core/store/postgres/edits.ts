// Edits plants, and records each in the history, in one transaction. On Citus every edit is for one
// shard: `edits` is distributed as the plants are.

import { type EditOutcome, type EditRun, editWork, type PlantEdit } from "../plant-edit.ts";
import type { SqlStatement } from "../sql-connection.ts";
import { escapeLiteral, type PoolClient } from "./driver.ts";
import { rejectForOperator } from "./errors.ts";
import type { Primary } from "./primary.ts";

/** How long an edit waits for a row that another transaction has locked. */
const lockMsMax = 1_000;

/** See PlantStore.edit. Not repeated after a lost connection, as the edits may have been made. */
export function editPlants(
  primary: Primary,
  edits: readonly PlantEdit[],
  run: EditRun,
): Promise<EditOutcome[]> {
  const edit = async (connection: PoolClient): Promise<EditOutcome[]> => {
    const work = editWork(edits, run, ' COLLATE "C"');
    let step = work.next();
    while (step.done !== true) {
      // The statements are one text, and so one round trip.
      const text = step.value.map(withLiterals).join(";");
      // Several statements have an array of results; the types have one.
      const results = [await connection.query<object>(text)].flat();
      step = work.next(results.map(({ rows }) => rows));
    }
    return step.value;
  };
  const options = { mode: "ISOLATION LEVEL READ COMMITTED", lockMs: lockMsMax };
  return primary.once((pool) => pool.transaction(edit, options)).catch(rejectForOperator);
}

/** A statement with literals whose types are those of what they are compared with or assigned to. */
function withLiterals({ sql, parameters = [] }: SqlStatement): string {
  return sql.replaceAll(/\$(\d+)/g, (_, number) => {
    const value = parameters[Number(number) - 1] ?? null;
    return value === null ? "NULL" : escapeLiteral(String(value));
  });
}
