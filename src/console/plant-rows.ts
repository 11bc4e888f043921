// The plants of the console, read by their ids, and their versions.

import { fieldNames, type PlantColumns, typeOf } from "../core/contract/fields.ts";
import { type NewPlant, newPlantJson } from "../core/contract/plant.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { list } from "../core/store/sql-work.ts";

export type PlantRow = PlantColumns & {
  readonly id: bigint;
  /** RFC 3339; null for plants that were stored before it was recorded. */
  readonly createdAt: string | null;
  /**
   * The name of the token or of an identity provider's subject; null for an import, an operator,
   * and where it was not recorded.
   */
  readonly token: string | null;
};

type StoredRow = PlantColumns & Pick<PlantRow, "id" | "token"> & { readonly created_at: bigint | null };

const columns = fieldNames.map((field) => `plants.${field}`).join(", ");

/** The stored plants with these ids, in the order of the ids. */
export async function readPlants(sql: SqlConnection, ids: readonly bigint[]): Promise<PlantRow[]> {
  if (ids.length === 0) return [];
  const rows = await sql.query<StoredRow>(
    `SELECT plants.id, ${columns}, created_at, creators.name AS token
     FROM plants LEFT JOIN creators ON creators.id = creator
     WHERE plants.id IN ${list(ids)}`,
    ids,
  );
  const byId = new Map(
    rows.map(({ id, created_at, token, ...fields }) => [
      id,
      {
        id,
        ...toTyped(fields),
        createdAt: created_at === null ? null : new Date(Number(created_at)).toISOString(),
        token,
      },
    ]),
  );
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** A digest of a plant, by which an edit of many plants sees which of them have changed since. */
export function versionOf(plant: NewPlant): string {
  return Bun.hash(newPlantJson(plant)).toString(36);
}

/** Normalizes the values of engines: SQLite has bigint instead of numbers and booleans. */
function toTyped(columns: PlantColumns): PlantColumns {
  const typed = fieldNames.map((field) => {
    const value = columns[field];
    return [field, value === null ? null : typeOf(field).fromColumn(value)] as const;
  });
  return Object.fromEntries(typed) as PlantColumns;
}
