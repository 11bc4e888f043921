// A server in the process of the test, on a free port, if the process is not the subject.

import { makeToken, randomBytes } from "../../src/core/auth/token.ts";
import { type ServerEvent, ServerEvents } from "../../src/core/observability/server-event.ts";
import { type RunningServer, type ServerOptions, startServer } from "../../src/core/server.ts";
import type { ServerStore } from "../../src/core/store/group-commit.ts";
import { openServerStore } from "../../src/core/store/open-store.ts";
import { SqliteStore } from "../../src/core/store/sqlite/store.ts";
import { type Answer, freshId, plantJson, post, type Target } from "./http.ts";
import { TemporaryFolder } from "./server.ts";

type InProcessOptions = Omit<ServerOptions, "store" | "events"> & {
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
  static async start({ database, ...options }: InProcessOptions = {}): Promise<InProcessServer> {
    await using resources = new AsyncDisposableStack();
    const address = database ?? `sqlite:${resources.use(new TemporaryFolder()).file("plants.db")}`;
    const events: ServerEvent[] = [];
    const hub = new ServerEvents();
    hub.subscribe((event) => events.push(event));
    const store = await openServerStore(address, "create", {
      onUnavailable: (reason) => hub.emit({ kind: "storeUnavailable", reason }),
      onDegraded: (reason) => hub.emit({ kind: "storeDegraded", reason }),
      onFailed: ({ message }) => hub.emit({ kind: "storeFailed", reason: message }),
    });
    resources.defer(() => store.close());
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
  async createToken(name: string = crypto.randomUUID(), lifetimeMs?: number): Promise<string> {
    const now = Date.now();
    const expiresAt = lifetimeMs === undefined ? null : now + lifetimeMs;
    const { token, record } = makeToken({ name, expiresAt }, { now, randomBytes });
    if (!(await this.store.tokens.add(record))) throw new Error(`There is a token named ${name}`);
    return token;
  }

  /** The current value of a metric without labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
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

export class GatedServer implements AsyncDisposable {
  readonly target: Target;
  /** Resolves when the first batch waits at the gate. */
  readonly batchArrived: Promise<void>;
  readonly #store: GatedStore;
  readonly #server: RunningServer;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    target: Target,
    store: GatedStore,
    server: RunningServer,
    resources: AsyncDisposableStack,
  ) {
    this.target = target;
    this.batchArrived = store.arrival.promise;
    this.#store = store;
    this.#server = server;
    this.#resources = resources;
  }

  static async start({ queuePlantsMax }: { readonly queuePlantsMax: number }): Promise<GatedServer> {
    await using starting = new AsyncDisposableStack();
    const folder = starting.use(new TemporaryFolder());
    const store = new GatedStore(folder.file("plants.db"), "create", (reason) => {
      throw new Error(`The store failed: ${reason}`);
    });
    starting.defer(() => store.close());
    const token = await addToken(store);
    const server = starting.use(
      await startServer({
        store,
        admin: { host: "127.0.0.1", port: 0 },
        limits: { queuePlantsMax, drainSecondsMax: 0 },
      }),
    );
    starting.defer(store.gate.resolve);
    return new GatedServer({ url: server.url, token }, store, server, starting.move());
  }

  /** Lets the batch that waits and all later ones pass. */
  openGate(): void {
    this.#store.gate.resolve();
  }

  /** The number of plants in the queue, by the metrics. */
  async queueLength(): Promise<number> {
    const text = await (await fetch(`${this.#server.adminUrl}/metrics`)).text();
    return Number(/^plantstore_queue_plants (\d+)$/m.exec(text)?.[1]);
  }

  /** Creates a plant with a new id. */
  create(token: string = this.target.token): Promise<Answer> {
    return post({ ...this.target, token }, plantJson(freshId(), "Monstera"));
  }

  async createToken(): Promise<string> {
    const token = await addToken(this.#store);
    await this.#server.reloadTokens();
    return token;
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

async function addToken(store: SqliteStore): Promise<string> {
  const name = crypto.randomUUID();
  const { token, record } = makeToken({ name, expiresAt: null }, { now: Date.now(), randomBytes });
  await store.tokens.add(record);
  return token;
}
