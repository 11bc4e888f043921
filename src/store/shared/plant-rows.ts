// Defines a plant as it is stored, with its creation and its version, and reads plants by their ids,
// with the SQL of every engine.

import type { Collection, Plant, PlantColumns } from "../../contract/contract.ts";
import { toValues } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlConnection, SqlStatement } from "../sql-connection.ts";
import { keepsKeys, keyColumn } from "./create-key.ts";
import { forCollection, list } from "./sql-work.ts";

/** When and by whom a plant was created. */
export interface Creation {
  /** Milliseconds since the epoch, by the clock of the server. */
  readonly createdAt: number;
  /** The key of a token or a provider's subject; null for an import or an operator. */
  readonly creator: number | null;
  /** Undefined where the plant has none: see create-key.ts. */
  readonly key?: string;
}

/** A plant as it is stored. */
export interface StoredPlant extends Plant, Creation {
  /** Greater after each change, and never again what it was, also if the id is free in between. */
  readonly version: bigint;
}

/**
 * The column of the version, null for a plant that was not edited since its creation, so that a
 * create writes nothing: its version follows from the time of creation.
 */
export const versionColumn = "row_version";

/**
 * A version has the milliseconds since the epoch, and below them this many bits: random ones, so that
 * a plant that is created again in the same millisecond has another version.
 */
const randomBits = 20;

/** The version in a row, for SQL. */
export const versionSql = `coalesce(${versionColumn}, created_at << ${randomBits})`;

/** The version of a plant that was not edited since its creation. */
export function createdVersion(createdAt: number): bigint {
  return BigInt(createdAt) << BigInt(randomBits);
}

/** The version that an edit gives to a plant. */
export function nextVersion(before: bigint | undefined, editedAt = Date.now()): bigint {
  const random = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) >>> (32 - randomBits);
  const version = createdVersion(editedAt) | BigInt(random);
  // Not the next number: a plant that is created again in the same millisecond begins with the same one.
  return before !== undefined && version <= before ? before + 1n + BigInt(random) : version;
}

/** When a plant was created and last changed, in milliseconds since the epoch, for responses. */
export function timesOf({ createdAt, version }: Pick<StoredPlant, "createdAt" | "version">) {
  return { createdAt, changedAt: Number(version >> BigInt(randomBits)) };
}

/** The columns of a plant without its creation and version. */
export function plantColumns({ fields }: Collection): string {
  return ["id", ...fields.map(({ column }) => column)].join(", ");
}

/** The columns of a StoredPlant. */
export const storedColumns = forCollection((collection) => {
  const key = keepsKeys(collection) ? `, ${keyColumn}` : "";
  return `${plantColumns(collection)}, created_at, creator, ${versionSql} AS ${versionColumn}${key}`;
});

/** The row of a StoredPlant; PostgreSQL has int8 as digits where nothing parses them. */
export type StoredRow = PlantColumns & {
  readonly id: PlantId;
  readonly created_at: bigint | string;
  readonly creator: bigint | number | null;
  readonly row_version: bigint | string;
  readonly create_key?: string | null;
};

export function toPlant(collection: Collection, row: PlantColumns & { readonly id: PlantId }): Plant {
  return { id: row.id, values: toValues(collection, row) };
}

export function toStored(collection: Collection, row: StoredRow): StoredPlant {
  const { id, values } = toPlant(collection, row);
  const createdAt = Number(row.created_at);
  const creator = row.creator === null ? null : Number(row.creator);
  const stored = { id, values, createdAt, creator, version: BigInt(row.row_version) };
  return row.create_key == null ? stored : { ...stored, key: row.create_key };
}

/** Reads the plants that are stored under some ids. Rejects with an OperatorError. */
export async function findPlants(
  collection: Collection,
  sql: Pick<SqlConnection, "query">,
  ids: readonly PlantId[],
): Promise<Map<PlantId, StoredPlant>> {
  if (ids.length === 0) return new Map();
  const { sql: text, parameters } = plantsStatement(collection, ids);
  return byId(collection, await sql.query<StoredRow>(text, parameters));
}

/** Selects the rows of plants by their ids, of which there is at least one. */
export function plantsStatement(collection: Collection, ids: readonly PlantId[]): SqlStatement {
  const wanted = withRepeated(ids);
  return {
    sql: `SELECT ${storedColumns(collection)} FROM "${collection.table}" WHERE id IN ${list(wanted)}`,
    parameters: wanted,
    isPrepared: true,
  };
}

/**
 * Each of the ids, of which there is at least one, and one of them again. Their number is one of
 * few, so that statements with them stay prepared; an id more than once changes nothing.
 */
export function withRepeated(ids: readonly PlantId[]): PlantId[] {
  const all = [...new Set(ids)];
  while (!Number.isInteger(Math.log2(all.length))) all.push(ids[0] as PlantId);
  return all;
}

export function byId(collection: Collection, rows: readonly StoredRow[]): Map<PlantId, StoredPlant> {
  return new Map(rows.map((row) => [row.id, toStored(collection, row)]));
}
