// Reads stored plants, page after page in the order of ids. Each page is a short read of its own,
// so that neither a large store nor a slow reader keeps a snapshot: SQLite could not restart its
// write-ahead log, and PostgreSQL not vacuum.

import { parts } from "../base/parts.ts";
import { type Collection, countCodeUnits, type Plant, type PlantColumns } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { hasKeySql, keyColumn } from "../store/shared/create-key.ts";
import {
  plantColumns,
  type StoredPlant,
  type StoredRow,
  storedColumns,
  toPlant,
  toStored,
} from "../store/shared/plant-rows.ts";
import { list } from "../store/shared/sql-work.ts";
import type { SqlConnection } from "../store/sql-connection.ts";

/** Selects the plants to read, all of them by default. */
interface Selection {
  /** Only plants that have exactly this in the field that groups them. */
  readonly group?: string | undefined;
  /** Only plants with an id greater than this. */
  readonly sinceId?: PlantId | undefined;
}

/** Plants of a page, which is held in memory: a page after long plants has fewer. */
const pagePlantsMax = 500;
const firstPagePlants = 50;
const pageCodeUnits = 2 ** 22;

/** Keys of one statement. */
const keysMax = 500;

/** The names of tokens and provider's subjects that have created plants, by their keys. */
export async function creatorNames(
  sql: Pick<SqlConnection, "query">,
  plants: readonly StoredPlant[],
): Promise<Map<number, string>> {
  const keys = [...new Set(plants.flatMap(({ creator }) => creator ?? []))];
  if (keys.length === 0) return new Map();
  const rows = await sql.query<{ id: bigint; name: string }>(
    `SELECT id, name FROM creators WHERE id IN ${list(keys)}`,
    keys,
  );
  return new Map(rows.map(({ id, name }) => [Number(id), name]));
}

type KeyRow = PlantColumns & { readonly id: PlantId; readonly create_key: string };

/** The plants that have some keys, by these. Rejects with an OperatorError. */
export async function findByKeys(
  collection: Collection,
  sql: SqlConnection,
  keys: readonly string[],
): Promise<Map<string, Plant>> {
  const found = new Map<string, Plant>();
  for (const some of parts(keys, keysMax)) {
    const rows = await sql.query<KeyRow>(
      `SELECT ${keyColumn}, ${plantColumns(collection)} FROM "${collection.table}" WHERE ${keyColumn} IN ${list(some)} AND ${hasKeySql}`,
      some,
    );
    for (const row of rows) found.set(row.create_key, toPlant(collection, row));
  }
  return found;
}

/**
 * Reads a selection. A plant that is created or changed meanwhile is read as it was or as it is.
 * Rejects with an OperatorError.
 */
export function readPlants(
  collection: Collection,
  sql: SqlConnection,
  selection: Selection = {},
): AsyncGenerator<readonly Plant[]> {
  return readSelected(collection, sql, selection, plantColumns(collection), toPlant);
}

/** Like readPlants, with creations and versions, whose columns take SQLite longer to read. */
export function readStoredPlants(
  collection: Collection,
  sql: SqlConnection,
  selection: Selection = {},
): AsyncGenerator<readonly StoredPlant[]> {
  return readSelected(collection, sql, selection, storedColumns(collection), toStored);
}

async function* readSelected<Read extends Plant>(
  collection: Collection,
  sql: SqlConnection,
  { group, sinceId }: Selection,
  columns: string,
  toSelected: (collection: Collection, row: StoredRow) => Read,
): AsyncGenerator<readonly Read[]> {
  const { groupField, table } = collection;
  let count = firstPagePlants;
  for (let after = sinceId; ; ) {
    const rows: readonly StoredRow[] = await sql.query<StoredRow>(
      `SELECT ${columns} FROM "${table}" ${after === undefined ? "" : "WHERE id > $1"} ORDER BY id LIMIT ${count}`,
      after === undefined ? [] : [after],
    );
    const last = rows.at(-1)?.id;
    if (last === undefined) return;
    const plants = rows.map((row) => toSelected(collection, row));
    const isSelected = ({ values }: Plant) =>
      groupField !== undefined && values[collection.fields.indexOf(groupField)] === group;
    const selected = group === undefined ? plants : plants.filter(isSelected);
    if (selected.length > 0) yield selected;
    after = last;
    let codeUnits = plants.length;
    for (const { values } of plants) codeUnits += countCodeUnits(collection, values);
    const meanCodeUnits = codeUnits / plants.length;
    count = Math.max(1, Math.min(pagePlantsMax, Math.floor(pageCodeUnits / meanCodeUnits)));
  }
}
