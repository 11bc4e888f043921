// The package as a library: starts the service inside another program. Bun runs it without a build.

import { compiler } from "./openapi/compiler.ts";
import type { ServerStore } from "./store/group-commit.ts";
import { storeAt } from "./store/open-store.ts";
import type { OpenMode, OpenOptions, StoreEvents } from "./store/plant-store.ts";

export { makeToken, randomBytes } from "./auth/token.ts";
export { ApiError } from "./base/errors.ts";
export { type ServerEvent, ServerEvents } from "./base/server-event.ts";
export type { Collection, Contract, ContractSource } from "./contract/contract.ts";
export { implement } from "./described/implement.ts";
export type { Handler, RequestContext } from "./http/handler.ts";
export type { Operation } from "./http/operation.ts";
export { collectionOperations } from "./plants/index.ts";
export { defineOwnOperation as defineOperation, error } from "./plants/own-operation.ts";
export { type CollectionStore, etagOf, type OwnStore } from "./plants/own-store.ts";
export { boolean, int32, int64, optional, plantId, text } from "./plants/parameters.ts";
export { ListenError, type RunningServer, type ServerOptions, startServer } from "./service/server.ts";
export type { PlantStore, StoreEvents } from "./store/plant-store.ts";

/** Opens a store for a server. Rejects with an error whose message says what to do. */
export async function openServerStore(
  database: string,
  mode: OpenMode,
  events: StoreEvents,
  options: Omit<OpenOptions, "compiler"> = {},
): Promise<ServerStore> {
  return await storeAt(database).openForServer(mode, events, { compiler, ...options });
}
