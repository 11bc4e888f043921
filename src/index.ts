// The package as a library: starts the service inside another program. Bun runs it without a build.

export { makeToken, randomBytes } from "./core/auth/token.ts";
export type { Handler, RequestContext } from "./core/http/handler.ts";
export { type ServerEvent, ServerEvents } from "./core/observability/server-event.ts";
export { ListenError, type RunningServer, type ServerOptions, startServer } from "./core/server.ts";
export { openServerStore } from "./core/store/open-store.ts";
export type { PlantStore, StoreEvents } from "./core/store/plant-store.ts";
