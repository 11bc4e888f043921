// A public listener in this process, in front of a store that commits nothing until the test opens its gate.

import { Authenticator } from "../../src/core/auth/authenticator.ts";
import { makeToken, randomBytes } from "../../src/core/auth/token.ts";
import { TokenCache } from "../../src/core/auth/token-cache.ts";
import { BodyReader } from "../../src/core/http/body-reader.ts";
import { ConnectionShedder } from "../../src/core/http/connection-shedder.ts";
import { createHandler } from "../../src/core/http/handler.ts";
import { startPublicListener } from "../../src/core/http/listener.ts";
import { GroupCommit, scheduleWithSetImmediate } from "../../src/core/store/group-commit.ts";
import type { NewEntry, Outcome } from "../../src/core/store/plant-store.ts";
import { SqliteStore } from "../../src/core/store/sqlite/store.ts";
import { type Answer, freshId, plantJson, post, type Target } from "./http.ts";
import { TemporaryFolder } from "./server.ts";

export class GatedServer implements AsyncDisposable {
  readonly target: Target;
  /** Resolves when the first batch waits at the gate. */
  readonly batchArrived: Promise<void>;
  /** Lets this and all later batches pass. */
  readonly openGate: () => void;
  readonly #store: SqliteStore;
  readonly #tokens: TokenCache;
  readonly #groupCommit: GroupCommit;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    parts: Pick<GatedServer, "target" | "batchArrived" | "openGate">,
    store: SqliteStore,
    tokens: TokenCache,
    groupCommit: GroupCommit,
    resources: AsyncDisposableStack,
  ) {
    this.target = parts.target;
    this.batchArrived = parts.batchArrived;
    this.openGate = parts.openGate;
    this.#store = store;
    this.#tokens = tokens;
    this.#groupCommit = groupCommit;
    this.#resources = resources;
  }

  static async start({ queuePlantsMax }: { readonly queuePlantsMax: number }): Promise<GatedServer> {
    await using starting = new AsyncDisposableStack();
    const folder = starting.use(new TemporaryFolder());
    const store = new SqliteStore(folder.file("plants.db"), "create", (reason) => {
      throw new Error(`The store failed: ${reason}`);
    });
    starting.defer(() => store.close());
    const tokens = new TokenCache(store.tokens, Date.now, (_, error) => {
      throw error;
    });
    await tokens.start();
    starting.defer(() => tokens.stop());
    const arrival = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const gated = {
      async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
        arrival.resolve();
        await gate.promise;
        return store.create(batch);
      },
      assertWritable: () => store.assertWritable(),
    };
    const limits = {
      queuePlantsMax,
      queueCodeUnitsMax: 100_000,
      batchPlantsMax: 100,
      batchesInFlightMax: 1,
    };
    const groupCommit = new GroupCommit(gated, limits, scheduleWithSetImmediate);
    starting.defer(() => groupCommit.close());
    const handler = createHandler({
      authenticator: new Authenticator(tokens, undefined),
      rateLimit: undefined,
      bodyReader: new BodyReader({ bodyBytesMax: 10_000, inFlightBytesMax: 100_000, arrivalMsMax: 20_000 }),
      groupCommit,
      basePath: "",
      publicUrl: undefined,
      corsOrigins: "off",
      docs: false,
      requestIdPrefix: "test",
      now: () => performance.now(),
      emit: () => undefined,
    });
    const listener = startPublicListener(handler, {
      host: "127.0.0.1",
      port: 0,
      certificate: undefined,
      idleSecondsMax: 30,
      connectionsMax: 1_000,
      connections: new ConnectionShedder(),
      emit: () => undefined,
    });
    starting.defer(() => listener.stop(0));
    starting.defer(gate.resolve);
    const token = await addToken(store, tokens);
    return new GatedServer(
      { target: { url: listener.url, token }, batchArrived: arrival.promise, openGate: gate.resolve },
      store,
      tokens,
      groupCommit,
      starting.move(),
    );
  }

  get queueLength(): number {
    return this.#groupCommit.queueLength;
  }

  /** Creates a plant with a new id. */
  create(token: string = this.target.token): Promise<Answer> {
    return post({ ...this.target, token }, plantJson(freshId(), "Monstera"));
  }

  createToken(): Promise<string> {
    return addToken(this.#store, this.#tokens);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

async function addToken(store: SqliteStore, cache: TokenCache): Promise<string> {
  const name = crypto.randomUUID();
  const { token, record } = makeToken({ name, expiresAt: null }, { now: Date.now(), randomBytes });
  await store.tokens.add(record);
  await cache.reload();
  return token;
}
