// The parts of the running server that the console's calls share.

import type { Clock, ServerEvent } from "../core/observability/server-event.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";

/** Plants were created or deleted in the console. */
interface PlantsChanged {
  readonly kind: "plantsChanged";
  readonly created: number;
  /** Plants to be created that were stored already. */
  readonly unchanged: number;
  readonly deleted: number;
  readonly endedAt: number;
}

/** An event of the server, or one that only the console's own counts need. */
export type ConsoleEvent = ServerEvent | PlantsChanged;

export interface ConsoleContext {
  readonly store: PlantStore;
  /** Returns the console's connection for reading. */
  readonly reader: () => Promise<SqlConnection>;
  readonly emit: (event: ConsoleEvent) => void;
  readonly now: Clock;
  /** The limit of a body of the public operation; the console accepts no larger plant. */
  readonly bodyBytesMax: number;
}
