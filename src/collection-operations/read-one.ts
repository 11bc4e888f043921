// One stored plant, with its time of creation and its entity tag.

import type { Contract, Plant, PlantColumns } from "../core/contract/contract.ts";
import { toValues } from "../core/contract/plant.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import { entityTag } from "../core/http/entity-tag.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";

export interface StoredOne {
  readonly plant: Plant;
  readonly createdAt: bigint;
  /** Null for a plant that was never changed; undefined where the contract does not have it. */
  readonly changedAt?: bigint | null | undefined;
  readonly entityTag: string;
}

/** Rejects as the store does. */
export async function readOne(
  contract: Contract,
  read: Pick<SqlConnection, "query">,
  id: PlantId,
): Promise<StoredOne | undefined> {
  const columns = [...timeColumns(contract), ...contract.fields.map(({ column }) => column)].join(", ");
  const [row] = await read.query<PlantColumns & TimeColumns>(`SELECT ${columns} FROM plants WHERE id = $1`, [
    id,
  ]);
  if (row === undefined) return undefined;
  const stored = toStored(contract, { id, values: toValues(contract, row) }, row.created_at);
  return { ...stored, changedAt: row.changed_at };
}

/** The columns of the times that responses have. */
export function timeColumns({ keepsChangeTime }: Contract): string[] {
  return keepsChangeTime ? ["created_at", "changed_at"] : ["created_at"];
}

export interface TimeColumns {
  readonly created_at: bigint;
  readonly changed_at?: bigint | null;
}

export function toStored(contract: Contract, plant: Plant, createdAt: bigint): StoredOne {
  return { plant, createdAt, entityTag: entityTag(contract, plant, createdAt) };
}
