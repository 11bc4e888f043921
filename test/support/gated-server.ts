// A server in this process on a store that commits nothing until the test opens its gate.

import { makeToken, randomBytes } from "../../src/core/auth/token.ts";
import { type RunningServer, startServer } from "../../src/core/server.ts";
import { SqliteStore } from "../../src/core/store/sqlite/store.ts";
import { type Answer, freshId, plantJson, post, type Target } from "./http.ts";
import { TemporaryFolder } from "./server.ts";

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
