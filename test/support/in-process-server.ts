// A server in the process of the test, on a free port, if the process is not the subject.

import { type ServerEvent, ServerEvents } from "../../src/base/server-event.ts";
import type { ContractSource } from "../../src/contract/contract.ts";
import { compiler } from "../../src/openapi/compiler.ts";
import { type ServerOptions, startServer } from "../../src/service/server.ts";
import type { ServerStore } from "../../src/store/group-commit.ts";
import { storeAt } from "../../src/store/open-store.ts";
import type { Target } from "./http.ts";
import { addToken, readMetric, TemporaryFolder } from "./server.ts";

type InProcessOptions = Omit<ServerOptions, "store" | "events"> & {
  /** Instead of the one that `database` names; closed with the server. */
  readonly store?: ServerStore;
  /** As --database takes it; a store in a temporary folder by default. */
  readonly database?: string;
  /** The Plant Store's by default. */
  readonly contract?: ContractSource;
};

export type InProcessServer = Awaited<ReturnType<typeof startInProcess>>;

/**
 * Starts a server with an admin listener, both on free ports. It is stopped, and its store closed,
 * when it goes out of scope.
 */
export async function startInProcess({
  database: givenDatabase,
  store: givenStore,
  contract,
  ...options
}: InProcessOptions = {}) {
  await using starting = new AsyncDisposableStack();
  const database = givenDatabase ?? `sqlite:${starting.use(new TemporaryFolder()).file("plants.db")}`;
  const emitted: ServerEvent[] = [];
  const hub = new ServerEvents();
  hub.subscribe((event) => emitted.push(event));
  const store =
    givenStore ??
    (await storeAt(database).openForServer(
      "create",
      {
        onUnavailable: (reason) => hub.emit({ kind: "storeUnavailable", reason }),
        onTaskFailed: (reason) => hub.emit({ kind: "storeTaskFailed", reason }),
        onFailed: ({ message }) => hub.emit({ kind: "storeFailed", reason: message }),
      },
      { compiler, ...(contract && { contract }) },
    ));
  starting.use(store);
  const admin = { host: "127.0.0.1", port: 0 };
  const server = starting.use(await startServer({ admin, ...options, store, events: hub }));
  const resources = starting.move();
  const { url, adminUrl = "" } = server;
  /** Adds a token to the store. It expires after `lifetimeMs`, or never. */
  const createToken = (name?: string, lifetimeMs?: number) => addToken(store.tokens, name, lifetimeMs);
  /** All events so far. */
  const events: readonly ServerEvent[] = emitted;
  return {
    server,
    /** The base address of the public listener. */
    url,
    adminUrl,
    /** The store's address, as --database takes it. */
    database,
    store,
    events,
    createToken,
    /** The current value of a metric without labels. */
    metric: (name: string) => readMetric(adminUrl, name),
    /** This server with a new token. */
    target: async (): Promise<Target> => ({ url, token: await createToken() }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
