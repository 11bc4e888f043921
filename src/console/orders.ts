// The orders of the console's list of plants.

import { type FieldName, groupField, titleField } from "../core/contract/fields.ts";

export type Order = "id" | FieldName | "created";

/**
 * Plants that are equal in an order are ordered by id. The orders of the group and of the creation
 * list only plants that have one.
 */
export const orders: readonly Order[] = [
  "id",
  titleField,
  ...(groupField === undefined ? [] : [groupField]),
  "created",
];
