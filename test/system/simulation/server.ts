// A server process of the simulation: the real code from Request to Response, with a simulated store.

import { Bodies } from "../../../src/api/body.ts";
import { createPlant } from "../../../src/api/create-plant.ts";
import { RequestRecorder } from "../../../src/api/request-record.ts";
import { Responses } from "../../../src/api/responses.ts";
import { Authenticator } from "../../../src/auth/authenticator.ts";
import { TokenCache } from "../../../src/auth/token-cache.ts";
import { ApiError } from "../../../src/contract/errors.ts";
import type { NewPlant } from "../../../src/contract/plant.ts";
import { GroupCommit, scheduleWithSetImmediate } from "../../../src/store/group-commit.ts";
import type { Outcome } from "../../../src/store/plant-store.ts";
import type { Environment, GroupCommitCalls, ProcessStore, SimulationParts } from "./environment.ts";

/** Small, so that the simulation reaches them. */
const limits = { queuePlantsMax: 4, queueCodeUnitsMax: 900, batchPlantsMax: 3 };
const bodyLimits = { bodyBytesMax: 2_000, inFlightBytesMax: 8_000, arrivalMsMax: 2_000 };

/** An exception of an engine that no code expects. */
class EngineThrew extends Error {}

/** The body of the 500 response to it. */
export const engineThrewText = "the engine threw";

/** What a client receives: a response, or the end of the connection. */
export type Reply = { readonly status: number; readonly text: string } | "disconnected";

export class SimulatedServer {
  readonly #parts: SimulationParts;
  readonly #store: ProcessStore;
  readonly #groupCommit: GroupCommit;
  /** The same, or with a planted bug. */
  readonly #groupCommitCalls: GroupCommitCalls;
  readonly #tokens: TokenCache;
  readonly #bodies = new Bodies(bodyLimits);
  readonly #responses = new Responses("*", undefined);
  readonly #requests: RequestRecorder;
  readonly #disconnected = Promise.withResolvers<"disconnected">();
  readonly #open = new Set<Promise<Reply>>();
  /** Requests without a response, whether or not the client still waits. */
  #unanswered = 0;
  /** The longest queue of plants that was seen. */
  #queueLengthMax = 0;
  #state: "starting" | "up" | "stopping" | "ended" = "starting";

  /** @param onEnd called when the process has ended by itself. */
  constructor(environment: Environment, parts: SimulationParts, onEnd: () => void) {
    const { time, random, mutation } = parts;
    this.#parts = parts;
    const store = environment.start(() => {
      this.kill();
      onEnd();
    });
    this.#store = mutation.store?.(store, { time, random }) ?? store;
    this.#groupCommit = new GroupCommit(
      { create: (batch) => this.#create(batch, environment) },
      { ...limits, ...mutation.limits, batchesInFlightMax: store.batchesInFlightMax },
      scheduleWithSetImmediate,
    );
    this.#groupCommitCalls = mutation.groupCommit?.(this.#groupCommit, { time, random }) ?? this.#groupCommit;
    const tokens = mutation.tokens?.(store.tokens) ?? store.tokens;
    this.#tokens = new TokenCache(tokens, mutation.clock?.(time.wallNow) ?? time.wallNow, () => undefined);
    this.#requests = new RequestRecorder(time.now, "simulated");
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  async start(): Promise<void> {
    await this.#tokens.start();
    this.#state = "up";
  }

  /** Handles a request, unless the process ends before. */
  send(request: Request): Promise<Reply> {
    if (!this.isUp) return Promise.resolve("disconnected");
    const reply = Promise.race([this.#handle(request), this.#disconnected.promise]);
    this.#open.add(reply);
    void reply.then(() => this.#open.delete(reply));
    return reply;
  }

  /** Ends the process as kill -9 does. */
  kill(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#parts.trace("killed");
    this.#store.kill();
    this.#disconnected.resolve("disconnected");
    void this.#tokens.stop();
  }

  /**
   * Stops the server as SIGTERM does: accepted requests are drained for at most `drainMsMax`. Returns the violations that are
   * left afterwards.
   */
  async stop(drainMsMax: number): Promise<string[]> {
    this.#state = "stopping";
    const drained = Promise.all(this.#open).then(() => true);
    const isDrained = await Promise.race([drained, this.#parts.time.sleep(drainMsMax).then(() => false)]);
    this.#disconnected.resolve("disconnected");
    await this.#groupCommit.close();
    await this.#tokens.stop();
    // No commit is in flight, so requests that are left were still receiving their bodies.
    await this.#parts.time.sleep(bodyLimits.arrivalMsMax + 1_000);
    if (this.#hasEnded()) return [];
    this.#state = "ended";
    await this.#store.close();
    const left = [
      this.#groupCommit.queueLength,
      this.#unanswered,
      isDrained ? this.#bodies.bytesInFlight : 0,
    ];
    return [
      ...(left.some((count) => count !== 0)
        ? [`left behind: plants, requests and bytes in flight: ${left}`]
        : []),
      ...(this.#queueLengthMax > limits.queuePlantsMax
        ? [`overfull: ${this.#queueLengthMax} plants waited`]
        : []),
    ];
  }

  /** The server may have been killed meanwhile. */
  #hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** Calls the engine, which may throw before its commit or after it. */
  async #create(batch: readonly NewPlant[], environment: Environment): Promise<Outcome[]> {
    const { random, trace } = this.#parts;
    this.#queueLengthMax = Math.max(this.#queueLengthMax, batch.length + this.#groupCommit.queueLength);
    const throwsAt = environment.engineThrows ? random.pick(["before", "after", "never"] as const) : "never";
    if (throwsAt !== "never") trace(`the engine throws ${throwsAt} its commit`);
    if (throwsAt === "before") throw new EngineThrew();
    const outcomes = await this.#store.create(batch);
    if (throwsAt === "after") throw new EngineThrew();
    return outcomes;
  }

  async #handle(request: Request): Promise<Reply> {
    const requestRecord = this.#requests.startRequest(request, "/plants");
    this.#unanswered++;
    try {
      const created = await createPlant(request, requestRecord, {
        credentials: new Authenticator(this.#tokens, undefined),
        groupCommit: this.#groupCommitCalls,
        bodies: this.#bodies,
        rateLimit: undefined,
      });
      const response =
        created instanceof ApiError
          ? this.#responses.error(created, requestRecord)
          : this.#responses.plant(created, requestRecord);
      return { status: response.status, text: await response.text() };
    } catch (error) {
      if (error instanceof EngineThrew) return { status: 500, text: engineThrewText };
      this.#parts.trace(`internal error: ${error}`);
      return { status: 500, text: "" };
    } finally {
      this.#unanswered--;
    }
  }
}
