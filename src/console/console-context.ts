// Declares the parts of the running server that the console's calls of a collection share.

import type { Clock, Emit } from "../base/server-event.ts";
import type { Collection } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { PlantStore } from "../store/plant-store.ts";
import type { SqlConnection } from "../store/sql-connection.ts";

export interface ConsoleContext {
  readonly store: PlantStore;
  /** The collection that the calls are about. */
  readonly collection: Collection;
  /** Makes the id of a plant that is created without one. */
  readonly newId: () => PlantId;
  /** Returns the console's connection for reading. */
  readonly reader: () => Promise<SqlConnection>;
  readonly emit: Emit;
  /** Counts plants that were created in the console, and those that were stored already. */
  readonly countCreated: (created: number, unchanged: number) => void;
  readonly now: Clock;
  /** The limit of a body of the public operation; the console accepts no larger plant. */
  readonly bodyBytesMax: number;
}
