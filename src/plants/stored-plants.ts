// Reads stored plants, page after page in the order of ids. Each page is a short read of its own,
// so that neither a large store nor a slow reader keeps a snapshot: SQLite could not restart its
// write-ahead log, and PostgreSQL not vacuum.

import { parts } from "../base/parts.ts";
import { type Collection, countCodeUnits, type Plant, type PlantColumns } from "../contract/contract.ts";
import { toValues } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { hasKeySql, keyColumn } from "../store/shared/create-key.ts";
import { list } from "../store/shared/sql-work.ts";
import type { SqlConnection } from "../store/sql-connection.ts";

/** Selects the plants to read, all of them by default, and whether to read their creation. */
interface Selection {
  /** Only plants that have exactly this in the field that groups them. */
  readonly group?: string | undefined;
  /** Only plants with an id greater than this. */
  readonly sinceId?: PlantId | undefined;
  /** Whether each plant has its creation, which takes SQLite a third of the time. */
  readonly withCreation?: boolean | undefined;
}

/** When and by whom a plant was created. */
interface Creation {
  /** Milliseconds since the epoch, by the clock of the server. */
  readonly createdAt: number;
  /**
   * The name of the token, or of an identity provider's subject; null for an import or an operator.
   */
  readonly token: string | null;
}

/** A plant with its creation, where that was read. */
export type StoredPlant = Plant & { readonly creation?: Creation };

type PlantRow = PlantColumns & { readonly id: PlantId };

type CreationRow = PlantRow & {
  readonly created_at: bigint;
  /** No column of a field has this name. */
  readonly "creator name": string | null;
};

/**
 * Plants of a page, which is held in memory. A page after long plants has fewer: 2,600 of 100 kB
 * took 365 MB with 500 a page.
 */
const pagePlantsMax = 500;
const firstPagePlants = 50;
const pageCodeUnits = 2 ** 22;

/** Keys of one statement. */
const keysMax = 500;

/** Counting 50 million plants takes some seconds. */
const countMsMax = 10 * 60_000;

/** The part of a statement up to its conditions. */
function selectFrom({ table, fields }: Collection, withCreation: boolean): string {
  const columns = ["plants.id", ...fields.map(({ column }) => `plants.${column}`)].join(", ");
  return withCreation
    ? `SELECT ${columns}, plants.created_at, creators.name AS "creator name"
       FROM "${table}" AS plants LEFT JOIN creators ON creators.id = creator`
    : `SELECT ${columns} FROM "${table}" AS plants`;
}

/** The plants that are stored under some ids, at most editsMax. Rejects with an OperatorError. */
export async function findPlants(
  collection: Collection,
  sql: SqlConnection,
  ids: readonly PlantId[],
): Promise<Map<PlantId, Required<StoredPlant>>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<CreationRow>(
    `${selectFrom(collection, true)} WHERE plants.id IN ${list(ids)}`,
    ids,
  );
  return new Map(rows.map((row) => [row.id, toStoredPlant(collection, row)]));
}

/** The plants that have some keys, by these. Rejects with an OperatorError. */
export async function findByKeys(
  collection: Collection,
  sql: SqlConnection,
  keys: readonly string[],
): Promise<Map<string, Plant>> {
  const columns = ["id", keyColumn, ...collection.fields.map(({ column }) => column)].join(", ");
  const found = new Map<string, Plant>();
  for (const some of parts(keys, keysMax)) {
    const rows = await sql.query<PlantRow & { readonly create_key: string }>(
      `SELECT ${columns} FROM "${collection.table}" WHERE ${keyColumn} IN ${list(some)} AND ${hasKeySql}`,
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
export async function* readPlants(
  collection: Collection,
  sql: SqlConnection,
  { group, sinceId, withCreation = false }: Selection = {},
): AsyncGenerator<readonly StoredPlant[]> {
  const select = selectFrom(collection, withCreation);
  const toSelected = withCreation ? toStoredPlant : toPlant;
  const { groupField } = collection;
  let count = firstPagePlants;
  for (let after = sinceId; ; ) {
    const rows: readonly CreationRow[] = await sql.query<CreationRow>(
      `${select} ${after === undefined ? "" : "WHERE plants.id > $1"} ORDER BY plants.id LIMIT ${count}`,
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

/** Counts all plants. Rejects with an OperatorError. */
export async function countPlants(
  { table }: Pick<Collection, "table">,
  sql: SqlConnection,
  msMax = countMsMax,
): Promise<number> {
  const statement = `SELECT count(*) AS plants FROM "${table}" WHERE ${sql.inTime}`;
  const [row] = await sql.query<{ plants: bigint }>(statement, [], msMax);
  return Number(row?.plants);
}

function toPlant(collection: Collection, row: PlantRow): Plant {
  return { id: row.id, values: toValues(collection, row) };
}

function toStoredPlant(collection: Collection, row: CreationRow): Required<StoredPlant> {
  const creation = { createdAt: Number(row.created_at), token: row["creator name"] };
  return { ...toPlant(collection, row), creation };
}
