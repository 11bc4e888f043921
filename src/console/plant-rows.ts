// The plants of the console, read by their ids, and their versions.

import type { Contract, Plant, PlantColumns } from "../core/contract/contract.ts";
import { plantJson, toValues } from "../core/contract/plant.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { list } from "../core/store/sql-work.ts";

export interface PlantRow extends Plant {
  /** RFC 3339. */
  readonly createdAt: string;
  /**
   * The name of the token or of an identity provider's subject; null for an import or an operator.
   */
  readonly token: string | null;
}

type StoredRow = PlantColumns & {
  readonly id: PlantId;
  readonly created_at: bigint;
  /** No column of a field has this name. */
  readonly "creator name": string | null;
};

/** The stored plants with these ids, in the order of the ids. */
export async function readPlants(
  contract: Contract,
  sql: SqlConnection,
  ids: readonly PlantId[],
): Promise<PlantRow[]> {
  if (ids.length === 0) return [];
  const columns = contract.fields.map(({ column }) => `plants.${column}`);
  const rows = await sql.query<StoredRow>(
    `SELECT ${["plants.id", ...columns, "plants.created_at"].join(", ")}, creators.name AS "creator name"
     FROM plants LEFT JOIN creators ON creators.id = creator
     WHERE plants.id IN ${list(ids)}`,
    ids,
  );
  const byId = new Map(
    rows.map((row) => [
      row.id,
      {
        id: row.id,
        values: toValues(contract, row),
        createdAt: new Date(Number(row.created_at)).toISOString(),
        token: row["creator name"],
      },
    ]),
  );
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** A digest of a plant, by which an edit of many plants sees which of them have changed since. */
export function versionOf(contract: Contract, plant: Plant): string {
  return Bun.hash(plantJson(contract, plant)).toString(36);
}
