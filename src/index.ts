// The package as a library: starts the service inside another program. Bun runs it without a build.

export { decimalSum } from "./collection-operations/decimal-sum.ts";
export { defineOperation } from "./collection-operations/define-operation.ts";
export { collectionOperations } from "./collection-operations/index.ts";
export { boolean, int32, int64, optional, plantId, text } from "./collection-operations/parameters.ts";
export { makeToken, randomBytes } from "./core/auth/token.ts";
export type { Collection, Contract, ContractSource } from "./core/contract/contract.ts";
export { ApiError } from "./core/contract/errors.ts";
export type { Handler, RequestContext } from "./core/http/handler.ts";
export type { Operation } from "./core/http/operation.ts";
export { type ServerEvent, ServerEvents } from "./core/observability/server-event.ts";
export { ListenError, type RunningServer, type ServerOptions, startServer } from "./core/server.ts";
export { openServerStore } from "./core/store/open-store.ts";
export type { PlantStore, StoreEvents } from "./core/store/plant-store.ts";
