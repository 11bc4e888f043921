// The interface between this program and its extras, which serve.ts lists.

import type { AdminRoutes } from "../core/admin/server.ts";
import type { Clock, ServerEvents } from "../core/observability/server-event.ts";
import type { ServerOptions } from "../core/server.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import type { ServeSettings } from "./config/resolve.ts";

/** The parts of a server that is about to start. */
export interface ExtraContext {
  readonly store: PlantStore;
  readonly events: ServerEvents;
  /** Responds to a request as the public listener does. Called when the server has started. */
  readonly fetch: (request: Request) => Promise<Response>;
  readonly now: Clock;
  /** Milliseconds since the epoch: the clock by which tokens expire. */
  readonly wallNow: () => number;
}

/** Routes of the admin listener. */
export interface ServedRoutes {
  readonly adminRoutes: AdminRoutes;
  /** Call it when the server has stopped, before the store is closed. */
  close(): Promise<void>;
}

/** Puts a handler before that of the service. */
export type HandlerExtra = (config: ServeSettings) => NonNullable<ServerOptions["wrapHandler"]>;

/** Adds routes to the admin listener, or undefined if it is off. */
export type AdminExtra = (config: ServeSettings, context: ExtraContext) => ServedRoutes | undefined;
