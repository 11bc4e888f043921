// Forced outcomes: a handler before that of the server, which gives a create the outcome that its Prefer field or a rule asks
// for. A forced error is the response of the server's own code to a request, or with a dependency, that has this one fault:
// status, header fields, body and log line are therefore those of the real error.

import type { Caller } from "../core/auth/authenticator.ts";
import { ApiError, type ErrorCode, errorRegistry } from "../core/contract/errors.ts";
import { type NewPlant, newPlantJson, type Plant, parseNewPlant } from "../core/contract/plant.ts";
import { isPreflight } from "../core/http/cors.ts";
import {
  type Connection,
  createHandler,
  type Handler,
  type HandlerDependencies,
  pathOf,
} from "../core/http/handler.ts";
import { RateLimit, type RateLimitResult } from "../core/http/rate-limit.ts";
import type { ServerHandlerDependencies } from "../core/server.ts";
import type { CreateOutcome } from "../core/store/group-commit.ts";
import { drawDelayMs, type Example, type Outcome } from "./outcome.ts";
import type { Exchange } from "./pipe.ts";
import { parsePreferredOutcome } from "./prefer.ts";
import type { ForcedBy } from "./request-log.ts";
import type { Rules } from "./rules.ts";
import { wireEffect } from "./wire-effects.ts";

export interface ForcedOutcomesDependencies {
  /** Of the server's handler. */
  readonly server: ServerHandlerDependencies;
  readonly handler: Handler;
  readonly rules: Rules;
}

/** The rate whose excess is forced where the server has none: that of the example in openapi.yaml. */
const sampleRate = { createsPerSecond: 10, burst: 10 };

/** A plant for requests that have none: the example of openapi.yaml. */
const samplePlant = { id: 1n, name: "Monstera deliciosa", tag: "tropical" };

/** A token that no server issues: its character is not allowed in one. */
const malformedToken = "Bearer ?";

export class ForcedOutcomes {
  readonly #basePath: string;
  readonly #plantsPath: string;
  readonly #server: ForcedOutcomesDependencies["server"];
  readonly #handler: Handler;
  readonly #rules: Rules;
  /** Aborted by a reset: the requests that wait are not processed any more. */
  #discarding = new AbortController();

  constructor({ server, handler, rules }: ForcedOutcomesDependencies) {
    this.#server = server;
    this.#handler = handler;
    this.#rules = rules;
    this.#basePath = server.basePath;
    this.#plantsPath = `${server.basePath}/plants`;
  }

  /** Responds to the request of an exchange, with the outcome that it asks for or that a rule has for it. */
  handle(request: Request, connection: Connection, exchange: Exchange): Promise<Response> {
    const isForced = this.#rules.size > 0 || request.headers.has("prefer");
    if (!isForced || isPreflight(request) || pathOf(request.url) !== this.#plantsPath)
      return this.#handler(request, connection);
    return this.#force(request, connection, exchange);
  }

  /** Ends the delays of the requests that wait; their plants are not stored. */
  discardDelayed(): void {
    this.#discarding.abort();
    this.#discarding = new AbortController();
  }

  async #force(received: Request, context: Connection, exchange: Exchange): Promise<Response> {
    const { signal } = this.#discarding;
    const { attempt, outcome, forced } = await this.#choose(received, context);
    exchange.forced = forced;
    if (outcome === undefined) return this.#process(attempt);

    const { delay, drop } = outcome;
    const delayMs = delay === undefined ? 0 : drawDelayMs(delay.distribution, this.#rules.random);
    let hasWaited = false;
    const wait = () => {
      if (hasWaited || delayMs === 0) return Promise.resolve();
      hasWaited = true;
      context.setIdleSeconds?.(received, idleSeconds(delayMs));
      return sleep(delayMs, signal);
    };
    if (drop !== "beforeCommit") {
      const delayed = delay?.when === "before" ? delayCommits(attempt, wait, signal) : attempt;
      const response = await this.#respond(delayed, outcome);
      await wait();
      exchange.effect = wireEffect(outcome);
      if (drop === undefined) return response;
    }
    await wait();
    exchange.drop("close");
    return new Response();
  }

  /** The outcome of a request. Its body is read only where a rule depends on the plant. */
  async #choose(request: Request, context: Connection): Promise<Choice> {
    const attempt = { request, context, dependencies: this.#server };
    const preferred = parsePreferredOutcome(request.headers.get("prefer") ?? "");
    if (preferred !== undefined)
      return { attempt, outcome: preferred.outcome, forced: { prefer: preferred.preferences } };

    const { method, headers } = request;
    const read =
      this.#isCreate(request) && this.#rules.dependOnPlant({ method, headers })
        ? await this.#read(attempt)
        : { attempt, plant: undefined };
    const rule = this.#rules.match({ method, headers, plant: read.plant });
    return { attempt: read.attempt, outcome: rule?.outcome, forced: rule && { rule: rule.id } };
  }

  /** Reads the body of a create within the limits of the server, which later rejects it for the reason that is found here. */
  async #read(attempt: Attempt): Promise<{ attempt: Attempt; plant: NewPlant | undefined }> {
    const { request } = attempt;
    // Rejects if the client has gone; then the request is rejected in the same way when its body is read again.
    const body = await this.#server.bodyReader.read(request, sandboxCaller).catch(() => undefined);
    if (body === undefined) return { attempt, plant: undefined };
    if (body instanceof ApiError) {
      const dependencies = {
        ...attempt.dependencies,
        bodyReader: { start: () => body, end: () => undefined },
      };
      return { attempt: { ...this.#alter(attempt), dependencies }, plant: undefined };
    }
    const plant = parseNewPlant(body);
    return {
      attempt: this.#alter(attempt, { body: body.slice() }),
      plant: plant instanceof ApiError ? undefined : plant,
    };
  }

  #isCreate(request: Request): boolean {
    return request.method === "POST" && pathOf(request.url) === this.#plantsPath;
  }

  /** The response of the server itself. */
  #process({ request, context, dependencies }: Attempt): Promise<Response> {
    return dependencies === this.#server
      ? this.#handler(request, context)
      : createHandler(dependencies)(request, context);
  }

  async #respond(attempt: Attempt, { error, example, commit = false }: Outcome): Promise<Response> {
    const code = error ?? example?.error;
    if (example === undefined && code === undefined) return this.#process(attempt);
    if (commit && !this.#isCreate(attempt.request)) return this.#process(attempt);
    // A plant is sent only in place of one that is accepted.
    const accepted =
      commit || code === undefined ? await this.#accept(this.#asCreate(attempt), commit) : attempt;
    if (accepted instanceof Response) return accepted;
    if (code === undefined) return this.#sendPlant(accepted, example?.value as Plant);
    const response = await this.#fail(accepted, code);
    return example === undefined ? response : withExample(response, example);
  }

  /**
   * Processes a create up to its commit, or including it, and returns the create with the body that was accepted; or the
   * response of the server that refuses it.
   */
  #accept({ request, context, dependencies }: Attempt, isStored: boolean): Promise<Attempt | Response> {
    return new Promise((resolve, reject) => {
      const { rateLimit, groupCommit } = dependencies;
      let rate: RateLimitResult | undefined;
      const accept = (plant: NewPlant) => {
        // The create was counted.
        const counted = rateLimit && {
          policy: rateLimit.policy,
          consume: (caller: Caller) => rate ?? rateLimit.consume(caller),
        };
        const body = newPlantJson(plant);
        resolve(
          this.#alter({ request, context, dependencies: { ...this.#server, rateLimit: counted } }, { body }),
        );
      };
      const accepting: HandlerDependencies = {
        ...dependencies,
        rateLimit: rateLimit && {
          policy: rateLimit.policy,
          consume(caller) {
            rate = rateLimit.consume(caller);
            return rate;
          },
        },
        groupCommit: {
          isFullFor: (caller) => groupCommit.isFullFor(caller),
          create(pending) {
            const { plant, creator, callerKey } = pending;
            if (!isStored) return accept(plant);
            groupCommit.create({
              plant,
              creator,
              callerKey,
              settle(outcome: CreateOutcome) {
                if (outcome === "created" || outcome === "unchanged") accept(plant);
                else pending.settle(outcome);
              },
              fail: (error) => pending.fail(error),
            });
          },
        },
      };
      createHandler(accepting)(request, context).then(resolve, reject);
    });
  }

  /** 200 with a plant, of which nothing is stored. */
  #sendPlant(attempt: Attempt, plant: Plant): Promise<Response> {
    const body = newPlantJson({ id: samplePlant.id, ...plant });
    return this.#create(this.#alter(attempt, { body }), {
      groupCommit: {
        isFullFor: () => false,
        create: (pending) => pending.settle("unchanged"),
      },
    });
  }

  /** The response to a request that has one fault, and else is as it was sent. */
  #fail(attempt: Attempt, code: ErrorCode): Promise<Response> {
    const create = this.#asCreate(attempt);
    const { context, dependencies } = attempt;
    const { groupCommit } = dependencies;
    const isFullFor = (caller: string) => groupCommit.isFullFor(caller);
    switch (code) {
      case "badRequest":
        return this.#create(this.#alter(create, { headers: { "Content-Length": "26, 26" } }), {
          bodyReader: this.#server.bodyReader,
        });
      case "invalidJson":
        return this.#create(this.#alter(create, { body: '{"name": }' }));
      case "invalidPlant":
        return this.#create(this.#alter(create, { body: '{"id": "1"}' }));
      case "unstorableText":
        return this.#create(this.#alter(create, { body: '{"id": 1, "name": "Monst\\u0000era"}' }));
      case "conflict":
        return this.#create(create, {
          groupCommit: { isFullFor, create: (pending) => pending.settle("conflict") },
        });
      case "missingToken":
        return this.#create(this.#alter(attempt, { headers: { Authorization: undefined } }));
      case "invalidToken":
        return this.#create(this.#alter(attempt, { headers: { Authorization: malformedToken } }));
      case "notFound":
        return this.#handler(this.#alter(attempt, { path: `${this.#basePath}/plant` }).request, context);
      case "methodNotAllowed":
        return this.#handler(
          this.#alter(attempt, { method: this.#isCreate(attempt.request) ? "GET" : attempt.request.method })
            .request,
          context,
        );
      case "requestTimeout":
        return this.#create(create, {
          bodyReader: { start: () => this.#server.bodyReader.timeoutError, end: () => undefined },
        });
      case "contentTooLarge": {
        const headers = { "Content-Length": String(Number.MAX_SAFE_INTEGER) };
        return this.#create(this.#alter(create, { headers }), { bodyReader: this.#server.bodyReader });
      }
      case "unsupportedMediaType":
        return this.#create(this.#alter(attempt, { headers: { "Content-Type": undefined } }));
      case "tooManyRequests":
        return this.#create(create, {
          rateLimit: new ExhaustedRateLimit(this.#server.rateLimit?.limits ?? sampleRate, this.#server.now),
        });
      case "internalError":
        return this.#create(create, {
          groupCommit: {
            isFullFor,
            create: (pending) => pending.fail(new Error("forced by the sandbox")),
          },
        });
      case "unavailable":
        return this.#create(create, {
          groupCommit: { isFullFor: () => true, create: groupCommit.create.bind(groupCommit) },
        });
    }
  }

  #create(
    { request, context, dependencies }: Attempt,
    faulty: Partial<HandlerDependencies> = {},
  ): Promise<Response> {
    return createHandler({ ...dependencies, ...faulty })(request, context);
  }

  /** The request itself if it is a create, else one of the sample plant with its header fields. */
  #asCreate(attempt: Attempt): Attempt {
    if (this.#isCreate(attempt.request)) return attempt;
    return this.#alter(attempt, {
      body: newPlantJson(samplePlant),
      headers: { "Content-Type": "application/json" },
    });
  }

  /** A request that differs from another; a POST to the path of the operation, without a body, unless the change says otherwise. */
  #alter(
    attempt: Attempt,
    { method = "POST", path = this.#plantsPath, headers = {}, body }: Change = {},
  ): Attempt {
    const { request, context, dependencies } = attempt;
    const altered = new Headers(request.headers);
    if (body !== undefined) {
      altered.set("Content-Length", String(typeof body === "string" ? Buffer.byteLength(body) : body.length));
      altered.delete("Transfer-Encoding");
    }
    for (const [name, value] of Object.entries(headers)) {
      if (value === undefined) altered.delete(name);
      else altered.set(name, value);
    }
    const init = {
      method,
      headers: altered,
      signal: request.signal,
      ...(body === undefined ? {} : { body }),
    };
    const url = `${context.origin}${path}`;
    // The body that is sent is read as it is, also where another one could not be read.
    const read = body === undefined ? dependencies : { ...dependencies, bodyReader: this.#server.bodyReader };
    return { request: new Request(url, init), context, dependencies: read };
  }
}

interface Attempt {
  readonly request: Request;
  readonly context: Connection;
  readonly dependencies: HandlerDependencies;
}

interface Change {
  readonly method?: string;
  readonly path?: string;
  /** Undefined for a field that is left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

interface Choice {
  readonly attempt: Attempt;
  /** Undefined where the server responds by itself. */
  readonly outcome: Outcome | undefined;
  readonly forced: ForcedBy | undefined;
}

/** Of the bodies that are read to choose a rule, before it is known from whom they are. */
const sandboxCaller = { key: "sandbox" };

/** A rate limit by which each create is over the burst of its caller. */
class ExhaustedRateLimit extends RateLimit {
  override consume(caller: Caller): RateLimitResult {
    return super.consume(caller, this.limits.burst + 1);
  }
}

/** @param signal aborted if the plant is not to be committed after the delay. */
function delayCommits(attempt: Attempt, wait: () => Promise<void>, signal: AbortSignal): Attempt {
  const { groupCommit } = attempt.dependencies;
  return {
    ...attempt,
    dependencies: {
      ...attempt.dependencies,
      groupCommit: {
        isFullFor: (caller) => groupCommit.isFullFor(caller),
        create: (pending) =>
          void wait().then(() => (signal.aborted ? pending.settle("closed") : groupCommit.create(pending))),
      },
    },
  };
}

/** Resolves after a time, or when the signal is aborted. A sandbox that stops does not wait for it. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms).unref();
    signal.addEventListener("abort", end);
  });
}

/** Bun has no longer idle time; 0 is any time. */
const idleSecondsMax = 255;

/** For how long the connection of a request that waits may be without traffic. */
function idleSeconds(delayMs: number): number {
  const seconds = Math.ceil(delayMs / 1_000) + 60;
  return seconds > idleSecondsMax ? 0 : seconds;
}

/** A response with the body of an example in place of its own, unless it is another error. */
async function withExample(response: Response, { error, value }: Example): Promise<Response> {
  const text = await response.text();
  const isError = error !== undefined && text.startsWith(`{"error":${errorRegistry[error].error},`);
  const { status, headers } = response;
  return new Response(isError ? JSON.stringify(value) : text, { status, headers });
}
