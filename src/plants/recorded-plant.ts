// Reads plants of the history, which has each as the JSON of a body that would create it.

import type { ApiError } from "../base/errors.ts";
import { type Collection, type Plant, type Values, valuesEqual } from "../contract/contract.ts";
import { parsePlantJson, toValues } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { scanJson } from "../json/json-scanner.ts";
import { hasKeySql, keyColumn } from "../store/shared/create-key.ts";
import { type PlantRow, rowColumns, rowReader } from "../store/shared/plant-rows.ts";
import type { SqlConnection } from "../store/sql-connection.ts";

/**
 * Parses a plant of the history, which was accepted once. One of an earlier contract may have fields
 * that are gone, and not have those that came since.
 */
export function parseRecorded(collection: Collection, json: string): Plant | ApiError {
  const fields = collection.fields.map((field) => ({ ...field, isRequired: false }));
  const text = withPresentNames(collection, json);
  return parsePlantJson({ ...collection, fields, body: undefined, allowsOthers: true }, text);
}

/** The JSON of a plant whose members may have had other names when it was recorded. */
function withPresentNames({ renamed, id, fields }: Collection, json: string): string {
  const former = Object.keys(renamed);
  if (former.length === 0) return json;
  const scanned = scanJson(json, [id.name, ...fields.map(({ name }) => name), ...former]);
  if ("error" in scanned) return json;
  const members = [...scanned.members].map(
    ([name, text]) => `${JSON.stringify(renamed[name] ?? name)}:${text}`,
  );
  return `{${members.join(",")}}`;
}

/** A plant as it is stored, with the times of its creation and last change. */
export interface StoredPlant {
  readonly plant: Plant;
  readonly createdAt: bigint;
  readonly changedAt: bigint | null | undefined;
}

/**
 * Reads the plant that has a key, and whether it was created with these values. Rejects if it was
 * deleted meanwhile, and as the store does.
 */
export async function readByKey(
  sql: Pick<SqlConnection, "query">,
  collection: Collection,
  key: string,
  values: Values,
): Promise<{ readonly stored: StoredPlant; readonly isSame: boolean }> {
  const [row] = await sql.query<PlantRow & { readonly id: PlantId }>(
    `SELECT ${rowColumns(collection)} FROM "${collection.table}" WHERE ${keyColumn} = $1 AND ${hasKeySql}`,
    [key],
  );
  if (row === undefined) throw new Error("There is no plant with this key");
  const stored = toStored(collection, row);
  // An earlier plant with this id had another time of creation.
  const [first] = await sql.query<{ before: string | null }>(
    `SELECT before FROM edits WHERE plant_id = $1 AND collection = $2 AND created_at = $3
     ORDER BY edited_at, run, seq LIMIT 1`,
    [String(row.id), collection.table, row.created_at],
  );
  const created = first?.before == null ? stored.plant : parseRecorded(collection, first.before);
  return { stored, isSame: !("code" in created) && valuesEqual(collection, created.values, values) };
}

/** Reads a plant. Rejects if it was deleted, and as the store does. */
export async function readStored(
  sql: Pick<SqlConnection, "query">,
  collection: Collection,
  id: PlantId,
): Promise<StoredPlant> {
  const [row] = await rowReader(sql, collection)([id]);
  if (row === undefined) throw new Error(`There is no plant ${id}`);
  return toStored(collection, { ...row, id });
}

function toStored(collection: Collection, row: PlantRow & { readonly id: PlantId }): StoredPlant {
  const plant = { id: row.id, values: toValues(collection, row) };
  return { plant, createdAt: row.created_at, changedAt: row.changed_at };
}
