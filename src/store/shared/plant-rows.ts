// Reads the rows of plants by their ids, with the SQL of every engine.

import type { Collection, PlantColumns } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlConnection } from "../sql-connection.ts";
import { list } from "./sql-work.ts";

/** When a plant was last edited, in stores whose contract returns it; null for one that never was. */
export const changeTimeColumn = "changed_at";

/** The row of a plant, with its times. */
export type PlantRow = PlantColumns & {
  readonly created_at: bigint;
  readonly changed_at?: bigint | null;
};

/** The columns of a PlantRow, or of one without its times. */
export function rowColumns({ fields, keepsChangeTime }: Collection, hasTimes = true): string {
  const times = hasTimes ? ["created_at", ...(keepsChangeTime ? ["changed_at"] : [])] : [];
  return ["id", ...times, ...fields.map(({ column }) => column)].join(", ");
}

/** Makes the function that reads plants; it resolves with the row of each id. */
export function rowReader(sql: Pick<SqlConnection, "query">, collection: Collection) {
  const select = `SELECT ${rowColumns(collection)} FROM "${collection.table}" WHERE id IN `;
  return async (ids: readonly PlantId[]): Promise<(PlantRow | undefined)[]> => {
    const wanted = [...new Set(ids)];
    // Few lengths, so that their statements stay prepared: an id more than once changes nothing.
    while (!Number.isInteger(Math.log2(wanted.length))) wanted.push(wanted[0] as PlantId);
    const rows = await sql.query<PlantRow & { readonly id: PlantId }>(select + list(wanted), wanted);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id));
  };
}
