// One stored plant, with its time of creation and its entity tag.

import type { Contract, Plant, PlantColumns } from "../core/contract/contract.ts";
import { toValues } from "../core/contract/plant.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import { entityTag } from "../core/http/entity-tag.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";

export interface StoredOne {
  readonly plant: Plant;
  readonly createdAt: bigint;
  readonly entityTag: string;
}

/** Rejects as the store does. */
export async function readOne(
  contract: Contract,
  read: Pick<SqlConnection, "query">,
  id: PlantId,
): Promise<StoredOne | undefined> {
  const columns = ["created_at", ...contract.fields.map(({ column }) => column)].join(", ");
  const [row] = await read.query<PlantColumns & { created_at: bigint }>(
    `SELECT ${columns} FROM plants WHERE id = $1`,
    [id],
  );
  return row && toStored(contract, { id, values: toValues(contract, row) }, row.created_at);
}

export function toStored(contract: Contract, plant: Plant, createdAt: bigint): StoredOne {
  return { plant, createdAt, entityTag: entityTag(contract, plant, createdAt) };
}
