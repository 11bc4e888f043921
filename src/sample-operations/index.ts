// The operations that the sample interface has beside the create.

import type { Operation } from "../core/http/operation.ts";
import { deletePlant } from "./delete-plant.ts";
import { listPlants } from "./list-plants.ts";

/** By the names that `--operations` takes. */
export const sampleOperations = {
  list: listPlants,
  delete: deletePlant,
} as const satisfies Readonly<Record<string, Operation>>;
