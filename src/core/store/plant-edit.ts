// Edits of stored plants by an operator: the interface for clients only creates.

import type { NewPlant, Plant } from "../contract/plant.ts";
import { newPlantJson } from "../contract/plant.ts";

/** A change or a deletion of one plant, or the restoration of a deleted one. */
export interface PlantEdit {
  readonly id: bigint;
  /**
   * The plant that the operator was shown: the edit is not made if another one is stored now.
   * Undefined for a plant that is to be restored: there must be none.
   */
  readonly expected: Plant | undefined;
  /** Undefined to delete the plant. */
  readonly replacement: Plant | undefined;
  /** When and by whom a plant that is restored was created, as the columns of `edits` have it. */
  readonly creation?: { readonly createdAt: bigint | null; readonly creator: bigint | null };
}

/** The run that edits are recorded under in the table `edits`. */
export interface EditRun {
  readonly run: string;
  /** Who edits, as JSON. */
  readonly editor: string;
  /** The number of the first edit; the others of the call follow it, each number once in a run. */
  readonly first: number;
}

/**
 * - `done`: the edit is on stable storage, with its row in the history.
 * - `missing`: no plant has the id.
 * - `changed`: the stored plant is not the expected one; it is unchanged.
 */
export type EditOutcome = "done" | "missing" | "changed";

/**
 * Edits in one call: on SQLite the batches of a server wait for them, some 5 ms. With plants of the
 * largest bodies a call takes 400 MB.
 */
export const editsMax = 200;

/** A plant in the history: the body that would create it. */
export function recordedPlant(id: bigint, plant: Plant | undefined): string | null {
  return plant === undefined ? null : newPlantJson({ ...plant, id } satisfies NewPlant);
}
