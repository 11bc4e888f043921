// Edits of stored plants by an operator: the interface for clients only creates.

import type { Plant } from "../contract/plant.ts";

/** A change or a deletion of one plant. */
export interface PlantEdit {
  readonly id: bigint;
  /** What the operator was shown: the edit is not made if another plant is stored now. */
  readonly expected: Plant;
  /** Undefined to delete the plant. */
  readonly replacement: Plant | undefined;
}

/**
 * - `done`: the edit is on stable storage.
 * - `missing`: no plant has the id.
 * - `changed`: the stored plant is not the expected one; it is unchanged.
 */
export type EditOutcome = "done" | "missing" | "changed";
