// A server process of the simulation: the real way from a Request to a Response, in front of a
// simulated store.

import { Authenticator } from "../../../src/auth/authenticator.ts";
import { TokenCache } from "../../../src/auth/token-cache.ts";
import { BodyReader } from "../../../src/http/body-reader.ts";
import { requestIdMaker } from "../../../src/http/exchange.ts";
import { createHandler, type Handler, inProcess } from "../../../src/http/handler.ts";
import { createOperation } from "../../../src/plants/create-plant.ts";
import { GroupCommit } from "../../../src/store/group-commit.ts";
import type { NewEntry, Outcome } from "../../../src/store/plant-store.ts";
import { plantStore } from "../../support/contracts.ts";
import type { CreateBatch, CreateOne, ProcessStore, SimulationParts } from "./environment.ts";
import type { SqliteEnvironment } from "./sqlite-environment.ts";

/** Small, so that they are reached. */
const limits = { queuePlantsMax: 4, batchPlantsMax: 3 };
const bodyLimits = { bodyBytesMax: 2_000, inFlightBytesMax: 8_000, arrivalMsMax: 2_000 };

/** An exception of an engine that no code expects. */
class EngineThrew extends Error {}

/** The text of the 500 that it is answered with. */
export const engineThrewText = "the engine threw";

/** The reply to a client: an answer, or the end of the connection. */
export type Reply = { readonly status: number; readonly text: string } | "disconnected";

export class SimulatedServer {
  readonly #parts: SimulationParts;
  readonly #store: ProcessStore;
  /** The engine's create, with a planted bug if there is one. */
  readonly #createBatch: CreateBatch;
  readonly #groupCommit: GroupCommit;
  readonly #tokens: TokenCache;
  readonly #bodyReader = new BodyReader(bodyLimits);
  readonly #handler: Handler;
  /** The internal errors of requests, by the ids of the requests. */
  readonly #internalErrors = new Map<string, unknown>();
  readonly #gone = Promise.withResolvers<"disconnected">();
  readonly #open = new Set<Promise<Reply>>();
  /** Requests without a response, whether or not the client still waits. */
  #unanswered = 0;
  /** The most plants that have waited for a commit. */
  #waitedMost = 0;
  #state: "starting" | "up" | "stopping" | "ended" = "starting";

  constructor(environment: SqliteEnvironment, parts: SimulationParts) {
    const { time, random, mutation } = parts;
    this.#parts = parts;
    this.#store = environment.start(() => this.kill());
    this.#createBatch = mutation.createBatch?.(this.#store.create, random) ?? this.#store.create;
    this.#groupCommit = new GroupCommit(
      {
        create: (batch) => this.#create(batch, environment),
        assertWritable: async () => undefined,
      },
      { ...limits, ...mutation.limits, batchesInFlightMax: this.#store.batchesInFlightMax },
      { now: time.now, emit: () => undefined },
    );
    this.#tokens = new TokenCache(this.#store.tokens, time.wallNow, () => undefined);
    this.#handler = createHandler({
      contract: plantStore,
      operations: [
        createOperation({
          collection: plantStore,
          newId: () => 1n,
          itemPath: undefined,
          sql: undefined,
        }),
      ],
      storeOf: undefined,
      newId: () => 1n,
      authenticator: new Authenticator(this.#tokens, undefined),
      resolveCreator: async () => undefined,
      groupCommit: this.#mutated(this.#groupCommit),
      bodyReader: this.#bodyReader,
      rateLimit: undefined,
      basePath: "",
      makeRequestId: requestIdMaker(),
      now: time.now,
      emit: (event) => {
        if (event.kind === "internalError") this.#internalErrors.set(event.requestId, event.error);
      },
    });
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  async start(): Promise<void> {
    await this.#tokens.start();
    this.#state = "up";
  }

  /** Answers a request, unless the process ends before. */
  send(request: Request): Promise<Reply> {
    if (!this.isUp) return Promise.resolve("disconnected");
    const reply = Promise.race([this.#answer(request), this.#gone.promise]);
    this.#open.add(reply);
    void reply.then(() => this.#open.delete(reply));
    return reply;
  }

  /** As kill -9. */
  kill(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#parts.trace("killed");
    this.#store.kill();
    this.#gone.resolve("disconnected");
    void this.#tokens.stop();
  }

  /**
   * As SIGTERM: what was accepted is answered, for as long as it may take. Says what is wrong with
   * the server once it has done all that it had to do.
   */
  async stop(drainMsMax: number): Promise<string[]> {
    this.#state = "stopping";
    const drained = Promise.all(this.#open).then(() => true);
    const isDrained = await Promise.race([drained, this.#parts.time.sleep(drainMsMax).then(() => false)]);
    this.#gone.resolve("disconnected");
    await this.#groupCommit.close();
    await this.#tokens.stop();
    // Nothing is in a commit any more, so what is not answered now was only waiting for its body.
    await this.#parts.time.sleep(bodyLimits.arrivalMsMax + 1_000);
    if (this.#hasEnded()) return [];
    this.#state = "ended";
    const left = [
      this.#groupCommit.queuedPlants,
      this.#unanswered,
      isDrained ? this.#bodyReader.memory.used : 0,
    ];
    return [
      ...(left.some((count) => count !== 0)
        ? [`left behind: plants, requests and bytes in flight: ${left}`]
        : []),
      ...(this.#waitedMost > limits.queuePlantsMax ? [`overfull: ${this.#waitedMost} plants waited`] : []),
    ];
  }

  /** It may have been killed meanwhile. */
  #hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** A group commit, with a planted bug in its create if there is one. */
  #mutated(groupCommit: GroupCommit): Pick<GroupCommit, "create" | "isFullFor"> {
    const { mutation, random } = this.#parts;
    const createOne: CreateOne = ({ collection: plantStore, plant, creator, callerKey }) =>
      new Promise((settle, fail) =>
        groupCommit.create({ collection: plantStore, plant, creator, callerKey, settle, fail }),
      );
    const create = mutation.createOne?.(createOne, random);
    if (create === undefined) return groupCommit;
    return {
      create: (pending) => {
        create(pending).then(
          (outcome) => pending.settle(outcome),
          (error) => pending.fail(error),
        );
      },
      isFullFor: (caller) => groupCommit.isFullFor(caller),
    };
  }

  /** The engine, which may throw before its commit, or after it. */
  async #create(batch: readonly NewEntry[], environment: SqliteEnvironment): Promise<Outcome[]> {
    const { random, trace } = this.#parts;
    this.#waitedMost = Math.max(this.#waitedMost, batch.length + this.#groupCommit.queuedPlants);
    const throwsAt = environment.engineThrows ? random.pick(["before", "after", "never"] as const) : "never";
    if (throwsAt !== "never") trace(`the engine throws ${throwsAt} its commit`);
    if (throwsAt === "before") throw new EngineThrew();
    const outcomes = await this.#createBatch(batch);
    if (throwsAt === "after") throw new EngineThrew();
    return outcomes;
  }

  async #answer(request: Request): Promise<Reply> {
    this.#unanswered++;
    try {
      const response = await this.#handler(request, inProcess);
      if (response.status !== 500) return { status: response.status, text: await response.text() };
      const error = this.#internalErrors.get(response.headers.get("x-request-id") ?? "");
      if (error instanceof EngineThrew) return { status: 500, text: engineThrewText };
      this.#parts.trace(`fault: ${error}`);
      return { status: 500, text: "" };
    } finally {
      this.#unanswered--;
    }
  }
}
