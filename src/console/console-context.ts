// The parts of the running server that the console's calls share.

import type { Clock, Emit } from "../core/observability/server-event.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";

export interface ConsoleContext {
  readonly store: PlantStore;
  /** Returns the console's connection for reading. */
  readonly reader: () => Promise<SqlConnection>;
  readonly emit: Emit;
  /** Counts plants that were created in the console, and those that were stored already. */
  readonly countCreated: (created: number, unchanged: number) => void;
  readonly now: Clock;
  /** The limit of a body of the public operation; the console accepts no larger plant. */
  readonly bodyBytesMax: number;
}
