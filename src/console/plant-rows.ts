// The plants of the console's lists, and one plant in full, read by their ids.

import { fieldNames, type PlantColumns, textFields, typeOf } from "../core/contract/fields.ts";
import { type NewPlant, newPlantJson, toNewPlant } from "../core/contract/plant.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { list } from "../core/store/sql-work.ts";

/** Longer texts are truncated to this many characters in a list. */
const previewLength = 300;

export type PlantSummary = PlantColumns & {
  readonly id: bigint;
  readonly isTruncated: boolean;
  /** RFC 3339; null for plants that were stored before it was recorded. */
  readonly createdAt: string | null;
  /**
   * The name of the token or of an identity provider's subject; null for an import, an operator,
   * and where it was not recorded.
   */
  readonly token: string | null;
};

type PlantRow = PlantColumns & {
  readonly id: bigint;
  readonly is_truncated: bigint;
  readonly created_at: bigint | null;
  readonly token: string | null;
};

const complete = fieldNames.map((field) => `plants.${field}`).join(", ");
const previews = fieldNames
  .map((field) =>
    textFields.includes(field)
      ? `substr(plants.${field}, 1, ${previewLength}) AS ${field}`
      : `plants.${field}`,
  )
  .join(", ");
const isLong = textFields.map((field) => `length(plants.${field}) > ${previewLength}`).join(" OR ");

/** The stored plants with these ids, in the order of the ids. */
export async function summaries(sql: SqlConnection, ids: readonly bigint[]): Promise<PlantSummary[]> {
  if (ids.length === 0) return [];
  const columns = `${previews}, CASE WHEN ${isLong} THEN 1 ELSE 0 END AS is_truncated`;
  const plants = await readPlants(sql, columns, ids);
  const byId = new Map(plants.map((plant) => [plant.id, plant]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** One plant with its complete texts. */
export async function findPlant(sql: SqlConnection, id: bigint): Promise<PlantSummary | undefined> {
  return (await readPlants(sql, `${complete}, 0 AS is_truncated`, [id]))[0];
}

/** The plant of a summary in full; undefined if it has been deleted since. */
export async function inFull(sql: SqlConnection, summary: PlantSummary): Promise<NewPlant | undefined> {
  const complete = summary.isTruncated ? await findPlant(sql, summary.id) : summary;
  return complete === undefined ? undefined : toNewPlant(complete.id, complete);
}

/** A digest of a plant, by which an edit of many plants sees which of them have changed since. */
export function versionOf(plant: NewPlant | undefined): string {
  return plant === undefined ? "" : Bun.hash(newPlantJson(plant)).toString(36);
}

async function readPlants(
  sql: SqlConnection,
  columns: string,
  ids: readonly bigint[],
): Promise<PlantSummary[]> {
  const rows = await sql.query<PlantRow>(
    `SELECT plants.id, ${columns}, created_at, creators.name AS token
     FROM plants LEFT JOIN creators ON creators.id = creator
     WHERE plants.id IN ${list(ids)}`,
    ids,
  );
  return rows.map(({ id, is_truncated, created_at, token, ...fields }) => ({
    id,
    ...toTyped(fields),
    isTruncated: is_truncated === 1n,
    createdAt: created_at === null ? null : new Date(Number(created_at)).toISOString(),
    token,
  }));
}

/** Normalizes the values of engines: SQLite has bigint instead of numbers and booleans. */
function toTyped(columns: PlantColumns): PlantColumns {
  const typed = fieldNames.map((field) => {
    const value = columns[field];
    return [field, value === null ? null : typeOf(field).fromColumn(value)] as const;
  });
  return Object.fromEntries(typed) as PlantColumns;
}
