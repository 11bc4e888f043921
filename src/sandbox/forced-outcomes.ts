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
import { fieldValues, type RequestHead } from "./http-framing.ts";
import { drawDelayMs, type Example, type Outcome } from "./outcome.ts";
import { parsePreferredOutcome } from "./prefer.ts";
import type { MarkedRequest, ResponseEffects } from "./recorder.ts";
import type { ForcedBy } from "./request-log.ts";
import type { Rules } from "./rules.ts";

export interface ForcedOutcomesDependencies {
  /** Of the server's handler. */
  readonly server: ServerHandlerDependencies;
  readonly handler: Handler;
  readonly rules: Rules;
  /** Where clients connect to, such as http://127.0.0.1:8080; undefined before the public listener is open. */
  readonly origin: () => string | undefined;
}

/** The name of the field by which a marked request is found; its value cannot be guessed by a client. */
const markName = "X-Plantstore-Sandbox-Request";

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
  readonly #origin: () => string | undefined;
  readonly #secret = crypto.randomUUID();
  /** The requests that have not ended, by the values of their fields. */
  readonly #marked = new Map<string, MarkedRequest>();
  #lastMark = 0;

  constructor({ server, handler, rules, origin }: ForcedOutcomesDependencies) {
    this.#server = server;
    this.#handler = handler;
    this.#rules = rules;
    this.#origin = origin;
    this.#basePath = server.basePath;
    this.#plantsPath = `${server.basePath}/plants`;
  }

  /** Marks a request on which an outcome may be forced; see Recorder. */
  mark(head: RequestHead): MarkedRequest | undefined {
    if (this.#rules.size === 0 && fieldValues(head, "prefer").length === 0) return undefined;
    const key = `${this.#secret}-${++this.#lastMark}`;
    const marked: MarkedRequest = {
      field: `${markName}: ${key}\r\n`,
      effects: undefined,
      forced: undefined,
      forget: () => this.#marked.delete(key),
    };
    this.#marked.set(key, marked);
    return marked;
  }

  readonly handle: Handler = (request, context) => {
    const own = this.#withOrigin(context);
    const marked = this.#takeMark(request);
    if (marked === undefined || isPreflight(request) || pathOf(request.url) !== this.#plantsPath)
      return this.#handler(request, own);
    return this.#force(request, own, marked);
  };

  /** With the address that clients connect to: that of the listener behind the recorder is not theirs. */
  #withOrigin(context: Connection): Connection {
    return { ...context, origin: this.#origin() ?? context.origin };
  }

  #takeMark({ headers }: Request): MarkedRequest | undefined {
    const key = headers.get(markName);
    if (key === null) return undefined;
    headers.delete(markName);
    return this.#marked.get(key);
  }

  async #force(received: Request, context: Connection, marked: MarkedRequest): Promise<Response> {
    const { attempt, outcome, forced } = await this.#choose(received, context);
    marked.forced = forced;
    if (outcome === undefined) return this.#process(attempt);

    const { delay, drop, body, bytesPerSecond } = outcome;
    const delayMs = delay === undefined ? 0 : drawDelayMs(delay.distribution, this.#rules.random);
    const effects: ResponseEffects = {
      ...(body === undefined ? {} : { body }),
      ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
      isDropped: drop !== undefined,
    };
    if (drop === "beforeCommit") {
      marked.effects = { ...effects, delayMs };
      // Dropped by the recorder.
      return new Response();
    }
    let hasWaited = false;
    const wait = (action: () => void) => {
      hasWaited = true;
      // A sandbox that stops does not wait for it.
      setTimeout(action, delayMs).unref();
    };
    const response = await this.#respond(
      delay?.when === "before" && delayMs > 0 ? delayCommits(attempt, wait) : attempt,
      outcome,
    );
    marked.effects = { ...effects, delayMs: hasWaited ? 0 : delayMs };
    return response;
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
      const dependencies = { ...attempt.dependencies, bodyReader: { start: () => body } };
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
      : createHandler(dependencies).handle(request, context);
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
      createHandler(accepting).handle(request, context).then(resolve, reject);
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
        return this.#create(create, { bodyReader: { start: () => this.#server.bodyReader.timeoutError } });
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
    return createHandler({ ...dependencies, ...faulty }).handle(request, context);
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
const sandboxCaller: Caller = { key: "sandbox", name: "sandbox" };

/** A rate limit by which each create is over the burst of its caller. */
class ExhaustedRateLimit extends RateLimit {
  override consume(caller: Caller): RateLimitResult {
    return super.consume(caller, this.limits.burst + 1);
  }
}

/** @param wait calls back after the delay. */
function delayCommits(attempt: Attempt, wait: (action: () => void) => void): Attempt {
  const { groupCommit } = attempt.dependencies;
  return {
    ...attempt,
    dependencies: {
      ...attempt.dependencies,
      groupCommit: {
        isFullFor: (caller) => groupCommit.isFullFor(caller),
        create: (pending) => wait(() => groupCommit.create(pending)),
      },
    },
  };
}

/** A response with the body of an example in place of its own, unless it is another error. */
async function withExample(response: Response, { error, value }: Example): Promise<Response> {
  const text = await response.text();
  const isError = error !== undefined && text.startsWith(`{"error":${errorRegistry[error].error},`);
  const { status, headers } = response;
  return new Response(isError ? JSON.stringify(value) : text, { status, headers });
}
