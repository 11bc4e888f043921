// A server in the process of the test, on a free port: for all that does not depend on a process of its own.

import { makeToken, randomBytes } from "../../src/core/auth/token.ts";
import { type ServerEvent, ServerEvents } from "../../src/core/observability/server-event.ts";
import { type RunningServer, type ServerOptions, startServer } from "../../src/core/server.ts";
import type { ServerStore } from "../../src/core/store/group-commit.ts";
import { openServerStore } from "../../src/core/store/open-store.ts";
import type { Target } from "./http.ts";
import { TemporaryFolder } from "./server.ts";

type InProcessOptions = Omit<ServerOptions, "store" | "events"> & {
  /** As --database takes it; a store in a temporary folder by default. */
  readonly database?: string;
};

export class InProcessServer implements AsyncDisposable {
  readonly server: RunningServer;
  readonly store: ServerStore;
  /** All events so far. */
  readonly events: readonly ServerEvent[];
  readonly #resources: AsyncDisposableStack;

  private constructor(
    server: RunningServer,
    store: ServerStore,
    events: readonly ServerEvent[],
    resources: AsyncDisposableStack,
  ) {
    this.server = server;
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
    return new InProcessServer(server, store, events, resources.move());
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

  /** This server with a new token. */
  async target(): Promise<Target> {
    return { url: this.url, token: await this.createToken() };
  }

  /** Stops the server and closes the store, if it was not stopped before. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}
