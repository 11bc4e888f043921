// Reads plants of the history, which has each as the JSON of its fields.

import type { ApiError } from "../base/errors.ts";
import { type Collection, isSameCreate, type Plant, type Values } from "../contract/contract.ts";
import { parsePlantJson, plantJson, valuesJson } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { Work } from "../contract/schema-check.ts";
import { scanJson } from "../json/json-scanner.ts";
import { hasKeySql, keyColumn } from "../store/shared/create-key.ts";
import {
  createdVersion,
  type StoredPlant,
  type StoredRow,
  storedColumns,
  toStored,
} from "../store/shared/plant-rows.ts";
import type { SqlConnection } from "../store/sql-connection.ts";

/**
 * Parses a plant of the history, which was accepted once. One of an earlier contract may have fields
 * that are gone, and not have those that came since, which it gets as stored plants do.
 */
export function parseRecorded(collection: Collection, id: PlantId, json: string): Plant | ApiError {
  const fields = collection.fields.map((field) => ({ ...field, isRequired: false, default: field.fill }));
  const text = withPresentNames(collection, json);
  return parsePlantJson({ ...collection, fields, body: undefined, allowsOthers: true }, text, () => id);
}

/** The JSON of a plant whose members may have had other names when it was recorded. */
function withPresentNames({ renamed, fields }: Collection, json: string): string {
  const former = Object.keys(renamed);
  if (former.length === 0) return json;
  const scanned = scanJson(json, [...fields.map(({ name }) => name), ...former]);
  if ("error" in scanned) return json;
  const members = [...scanned.members].map(
    ([name, text]) => `${JSON.stringify(renamed[name] ?? name)}:${text}`,
  );
  const others = fields.flatMap(({ gather }) => gather?.(json, new Work())?.slice(1, -1) ?? []);
  return `{${[...members, ...others].join(",")}}`;
}

/** The error of a plant of the history that a create could not store today. */
export function faultOfRecorded(collection: Collection, plant: Plant): ApiError | undefined {
  // The schema of a body may require the id.
  const json = collection.id.isRequired ? plantJson(collection, plant) : valuesJson(collection, plant.values);
  const parsed = parsePlantJson(collection, json, () => plant.id);
  return "code" in parsed ? parsed : undefined;
}

/**
 * Reads the plant that has a key, and whether it was created with these values; undefined if it was
 * deleted meanwhile. Rejects as the store does.
 */
export async function readByKey(
  sql: Pick<SqlConnection, "query">,
  collection: Collection,
  key: string,
  values: Values,
): Promise<{ readonly stored: StoredPlant; readonly isSame: boolean } | undefined> {
  const [row] = await sql.query<StoredRow>(
    `SELECT ${storedColumns(collection)} FROM "${collection.table}" WHERE ${keyColumn} = $1 AND ${hasKeySql}`,
    [key],
  );
  if (row === undefined) return undefined;
  const stored = toStored(collection, row);
  const { id, createdAt } = stored;
  // An earlier plant with this id had another time of creation. The index has the edits in the order of
  // their versions: later ones are not looked at.
  const [first] = await sql.query<{ before: string | null }>(
    `SELECT before FROM edits WHERE plant_id = $1 AND collection = $2 AND version > $3 AND created_at = $4
     ORDER BY version LIMIT 1`,
    [String(id), collection.table, createdVersion(createdAt), createdAt],
  );
  const created = first?.before == null ? stored : parseRecorded(collection, id, first.before);
  return { stored, isSame: !("code" in created) && isSameCreate(collection, created.values, values) };
}
