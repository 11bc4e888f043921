// Names the column in which a plant keeps the key of its create, where the server may choose the id:
// the id does not say then which create a plant is of.

import type { Collection } from "../../contract/contract.ts";

export const keyColumn = "create_key";

/** Characters of a key: 132 bits of a hash as base64url. */
export const keyLength = 22;

/** Whether the plants of a collection have the column. */
export function keepsKeys({ id }: Pick<Collection, "id">): boolean {
  return !id.isRequired;
}

/**
 * The condition of the index, which queries repeat to use it. Other values of the column are shorter,
 * see commitBatch of PostgreSQL.
 */
export const hasKeySql = `length(${keyColumn}) = ${keyLength}`;
