// A server in the process of the test, on a free port, if the process is not the subject.

import { type ServerEvent, ServerEvents } from "../../src/core/observability/server-event.ts";
import { type RunningServer, type ServerOptions, startServer } from "../../src/core/server.ts";
import type { ServerStore } from "../../src/core/store/group-commit.ts";
import { openServerStore } from "../../src/core/store/open-store.ts";
import { SqliteStore } from "../../src/core/store/sqlite/store.ts";
import { type Answer, freshId, plantJson, post, type Target } from "./http.ts";
import { addToken, readMetric, TemporaryFolder } from "./server.ts";

type InProcessOptions = Omit<ServerOptions, "store" | "events"> & {
  /** Instead of the one that `database` names; closed with the server. */
  readonly store?: ServerStore;
  /** As --database takes it; a store in a temporary folder by default. */
  readonly database?: string;
};

export class InProcessServer implements AsyncDisposable {
  readonly server: RunningServer;
  /** The store's address, as --database takes it. */
  readonly database: string;
  readonly store: ServerStore;
  /** All events so far. */
  readonly events: readonly ServerEvent[];
  readonly #resources: AsyncDisposableStack;

  private constructor(
    server: RunningServer,
    database: string,
    store: ServerStore,
    events: readonly ServerEvent[],
    resources: AsyncDisposableStack,
  ) {
    this.server = server;
    this.database = database;
    this.store = store;
    this.events = events;
    this.#resources = resources;
  }

  /** Starts a server with an admin listener, both on free ports. */
  static async start({
    database,
    store: given,
    ...options
  }: InProcessOptions = {}): Promise<InProcessServer> {
    await using resources = new AsyncDisposableStack();
    const address = database ?? `sqlite:${resources.use(new TemporaryFolder()).file("plants.db")}`;
    const events: ServerEvent[] = [];
    const hub = new ServerEvents();
    hub.subscribe((event) => events.push(event));
    const store =
      given ??
      (await openServerStore(address, "create", {
        onUnavailable: (reason) => hub.emit({ kind: "storeUnavailable", reason }),
        onDegraded: (reason) => hub.emit({ kind: "storeDegraded", reason }),
        onFailed: ({ message }) => hub.emit({ kind: "storeFailed", reason: message }),
      }));
    resources.use(store);
    const admin = { host: "127.0.0.1", port: 0 };
    const server = resources.use(await startServer({ admin, ...options, store, events: hub }));
    return new InProcessServer(server, address, store, events, resources.move());
  }

  /** The base address of the public listener. */
  get url(): string {
    return this.server.url;
  }

  get adminUrl(): string {
    return this.server.adminUrl ?? "";
  }

  /** Adds a token to the store. It expires after `lifetimeMs`, or never. */
  createToken(name?: string, lifetimeMs?: number): Promise<string> {
    return addToken(this.store.tokens, name, lifetimeMs);
  }

  /** The current value of a metric without labels. */
  metric(name: string): Promise<number> {
    return readMetric(this.adminUrl, name);
  }

  /** This server with a new token. */
  async target(): Promise<Target> {
    return { url: this.url, token: await this.createToken() };
  }

  /** Stops the server and closes the store, if it was not stopped before. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

/** A server whose store commits nothing until its gate is open, for tests of a queue. */
export class GatedServer implements AsyncDisposable {
  readonly server: InProcessServer;
  readonly target: Target;
  readonly #store: GatedStore;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    server: InProcessServer,
    target: Target,
    store: GatedStore,
    resources: AsyncDisposableStack,
  ) {
    this.server = server;
    this.target = target;
    this.#store = store;
    this.#resources = resources;
  }

  static async start({ queuePlantsMax }: { readonly queuePlantsMax: number }): Promise<GatedServer> {
    await using starting = new AsyncDisposableStack();
    const folder = starting.use(new TemporaryFolder());
    const store = new GatedStore(folder.file("plants.db"), "create", (reason) => {
      throw new Error(`The store failed: ${reason}`);
    });
    const limits = { queuePlantsMax, drainSecondsMax: 0 };
    const server = starting.use(await InProcessServer.start({ store, limits }));
    starting.defer(store.gate.resolve);
    return new GatedServer(server, await server.target(), store, starting.move());
  }

  /** Resolves when the first batch waits at the gate. */
  get batchArrived(): Promise<void> {
    return this.#store.arrival.promise;
  }

  /** Lets the batch that waits and all later ones pass. */
  openGate(): void {
    this.#store.gate.resolve();
  }

  /** The number of plants in the queue, by the metrics. */
  queueLength(): Promise<number> {
    return this.server.metric("plantstore_queue_plants");
  }

  /** Creates a plant with a new id. */
  create(token: string = this.target.token): Promise<Answer> {
    return post({ ...this.target, token }, plantJson(freshId(), "Monstera"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

class GatedStore extends SqliteStore {
  readonly arrival = Promise.withResolvers<void>();
  readonly gate = Promise.withResolvers<void>();

  override async create(...batch: Parameters<SqliteStore["create"]>): ReturnType<SqliteStore["create"]> {
    this.arrival.resolve();
    await this.gate.promise;
    return super.create(...batch);
  }
}
