// Forced outcomes: a handler before the server's that gives a request the outcome that its Prefer
// field or a rule asks for, instead of the server's or after it.

import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../packages/sandbox/src/control-types.ts";
import { invalidTokenError, missingTokenError } from "../core/auth/authenticator.ts";
import type { Caller } from "../core/auth/caller.ts";
import { unknownToken } from "../core/auth/token-cache.ts";
import type { Contract } from "../core/contract/contract.ts";
import { type ErrorShape, errorMembers } from "../core/contract/error-shape.ts";
import { ApiError, type ErrorCode, errorRegistry } from "../core/contract/errors.ts";
import { parseExactJson, toExactJson } from "../core/contract/exact-json.ts";
import { isObject, type Json } from "../core/contract/schemas.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import { createOperation } from "../core/http/create-plant.ts";
import { Exchange, type ExchangeDependencies, requestIdMaker } from "../core/http/exchange.ts";
import { type Handler, pathOf, type RequestContext } from "../core/http/handler.ts";
import type { Operation } from "../core/http/operation.ts";
import { RateLimit, type RateLimitResult } from "../core/http/rate-limit.ts";
import { type Route, routerOf } from "../core/http/router.ts";
import { TickBudget } from "../core/http/tick-budget.ts";
import type { Clock, Emit } from "../core/observability/server-event.ts";
import { errorsBeforeRate } from "../docs-page/failure-responses.ts";
import { drawDelayMs, type ForcedOutcome } from "./outcome.ts";
import { parsePreferredOutcome } from "./prefer.ts";
import type { ReceivedRequest } from "./received-request.ts";
import type { RequestGate } from "./request-gate.ts";
import { type Example, Examples, errorCodes } from "./response-examples.ts";
import type { Rules } from "./rules.ts";

export interface ForcedOutcomesOptions {
  readonly contract: Contract;
  readonly next: Handler;
  readonly rules: Rules;
  /** Its signal ends the delays of requests, whose plants are then not stored. */
  readonly gate: Pick<RequestGate, "signal">;
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The operations besides the create. */
  readonly operations: readonly Operation[];
  /** How long the rules wait for a body. */
  readonly arrivalMsMax: number;
  /** The rate of the server; undefined where it has none. */
  readonly rateLimit: { readonly createsPerSecond: number; readonly burst: number } | undefined;
  readonly now: Clock;
  readonly emit: Emit;
}

/**
 * The rate whose excess is forced where the server has none: that of the example in openapi.yaml.
 */
const sampleRate = { createsPerSecond: 10, burst: 10 };

/** The caller of forced errors, whose token is not checked. */
const sandboxCaller: Caller = { key: "sandbox", name: "sandbox", creator: undefined };

export class ForcedOutcomes {
  readonly #options: ForcedOutcomesOptions;
  readonly #findRoute: (method: string, path: string) => Route;
  readonly #shared: ExchangeDependencies;
  #examples: Examples | undefined;

  constructor(options: ForcedOutcomesOptions) {
    const { contract, operations, basePath, now, emit } = options;
    this.#options = options;
    this.#findRoute = routerOf([createOperation(contract), ...operations], basePath, contract);
    this.#shared = {
      contract,
      itemPath: undefined,
      createdAt: undefined,
      makeRequestId: requestIdMaker(),
      tickBudget: new TickBudget(),
      now,
      emit,
    };
  }

  /** Responds with the outcome that the request asks for, or that a rule has for it. */
  handle(request: Request, context: RequestContext, received: ReceivedRequest): Promise<Response> {
    const { rules, next } = this.#options;
    if (rules.size === 0 && !request.headers.has("prefer")) return next(request, context);
    const route = this.#findRoute(request.method, pathOf(request.url));
    const isOffered = route.operation !== undefined || route.error.code !== "notFound";
    return isOffered ? this.#force(request, { ...context, route }, received) : next(request, context);
  }

  async #force(request: Request, context: RoutedContext, received: ReceivedRequest): Promise<Response> {
    const { rules, gate } = this.#options;
    const { signal } = gate;
    const forced = await this.#choose(request, context.route, received);
    received.forced = forced?.by;
    const { outcome = {}, applied } = forced ?? {};
    const { delay, drop, body, bytesPerSecond } = outcome;
    const wait = async (when: "before" | "after") => {
      if (delay === undefined || (delay.when ?? "before") !== when) return;
      const delayMs = drawDelayMs(delay, rules.random);
      // A reset aborts it. A sandbox that stops does not wait for it.
      await sleep(delayMs, undefined, { signal, ref: false }).catch(() => undefined);
    };
    await wait("before");
    // A reset has closed the connection.
    if (signal.aborted) return new Response();
    const response =
      drop === "beforeCommit" ? new Response() : await this.#respond(request, context, outcome);
    await wait("after");
    if ((drop ?? body ?? bytesPerSecond) !== undefined) received.fault = outcome;
    if (applied !== undefined) response.headers.set("Preference-Applied", applied);
    return response;
  }

  async #choose(
    { method, headers }: Request,
    { segments }: Route,
    received: ReceivedRequest,
  ): Promise<ForcedOutcome | undefined> {
    const preferred = parsePreferredOutcome(headers.get("prefer") ?? "", this.#exampleTable);
    if (preferred !== undefined) return preferred;
    const { rules, arrivalMsMax } = this.#options;
    const members = method === "POST" ? membersOf(await received.body(arrivalMsMax)) : undefined;
    const { name, type } = this.#options.contract.id;
    const id = type.parse(String(members?.[name] ?? segments.id ?? ""));
    return rules.match({ method, headers, members, id });
  }

  async #respond(request: Request, context: RoutedContext, outcome: Outcome): Promise<Response> {
    const { error, example, response: any, commit = false, headers = {} } = outcome;
    const isForced = (error ?? example ?? any) !== undefined;
    const own = !isForced || commit ? await this.#options.next(request, context) : undefined;
    // A request that is rejected gets its own error.
    if (isForced && own !== undefined && !own.ok) return own;
    const response =
      isForced || own === undefined ? await this.#forcedResponse(request, context, outcome) : own;
    for (const [name, value] of Object.entries(headers))
      if (!framingFields.includes(name.toLowerCase())) response.headers.set(name, value);
    return response;
  }

  async #forcedResponse(
    request: Request,
    context: RoutedContext,
    { error, example: exampleName, response }: Outcome,
  ): Promise<Response> {
    if (response !== undefined) return toResponse(this.#options.contract.errorShape, response);
    const example = this.#exampleTable.byName.get(exampleName ?? "");
    const code = errorCodes.get(error ?? 0) ?? example?.error;
    const forced =
      code === undefined
        ? this.#exampleResponse(example)
        : await this.#fail(request, context, this.#forcedError(code, example, context.route));
    const rate = this.#rateOf(code);
    if (rate !== undefined) {
      forced.headers.set("RateLimit-Policy", rate.policy);
      forced.headers.set("RateLimit", rate.field);
    }
    return forced;
  }

  /** Made when the first request needs it. */
  get #exampleTable(): Examples {
    this.#examples ??= new Examples(this.#options.contract);
    return this.#examples;
  }

  #exampleResponse(example: Example | undefined): Response {
    const headers = { "Content-Type": "application/json", "X-Request-Id": this.#shared.makeRequestId() };
    return new Response(JSON.stringify(example?.value), { status: example?.status ?? 200, headers });
  }

  /** The error with its example's message, but for the one of the rate that the server has. */
  #forcedError(code: ErrorCode, example: Example | undefined, { path }: Route): ApiError {
    const rateError = this.#rateOf(code)?.error;
    if (rateError !== undefined && example === undefined) return rateError;
    const { members } = this.#options.contract.errorShape;
    const name = members.find(([, holds]) => holds === "message")?.[0] ?? "message";
    const { [name]: message = `${errorRegistry[code].meaning}.` } =
      (example ?? this.#exampleTable.of(code))?.value ?? {};
    return new ApiError(code, String(message), rateError?.details ?? this.#detailsOf(code, path));
  }

  #detailsOf(code: ErrorCode, path: string): ApiError["details"] | undefined {
    if (code === "unavailable") return { retryAfterSeconds: 1 };
    const { access } = this.#options.contract.operations.create;
    if (code === "missingToken") return missingTokenError(access).details;
    if (code === "invalidToken") return invalidTokenError(unknownToken, access).details;
    if (code !== "methodNotAllowed") return undefined;
    const route = this.#findRoute("", path);
    return route.operation === undefined ? route.error.details : undefined;
  }

  /** The rate of a response as it is after the first create, or after one too many. */
  #rateOf(code: ErrorCode | undefined): RateLimitResult | undefined {
    const isOver = code === "tooManyRequests";
    const limits = this.#options.rateLimit ?? (isOver ? sampleRate : undefined);
    if (limits === undefined || (code !== undefined && errorsBeforeRate.includes(code))) return undefined;
    return new RateLimit(limits, this.#shared.now).consume(sandboxCaller, isOver ? limits.burst + 1 : 1);
  }

  #fail(request: Request, context: RoutedContext, error: ApiError): Promise<Response> {
    return new Promise((resolve) => {
      const exchange = new Exchange(request, context.route, this.#shared, context.shouldClose, resolve);
      if (error.code === "internalError") exchange.fail(new Error("forced by the sandbox"));
      else exchange.reject(error);
    });
  }
}

type RoutedContext = RequestContext & { readonly route: Route };

/** The server sets them. */
const framingFields = ["connection", "content-length", "transfer-encoding"];

function toResponse(shape: ErrorShape, { status, body }: NonNullable<Outcome["response"]>): Response {
  if ([204, 205, 304].includes(status)) return new Response(null, { status });
  if (typeof body === "string") return new Response(body, { status });
  const isError = body === undefined && status >= 400;
  const message = "The sandbox was told to respond with this status.";
  const json = isError
    ? errorMembers(shape, { code: 100 * status, title: `Status ${status}`, message })
    : body;
  if (json === undefined) return new Response(null, { status });
  const headers = { "Content-Type": isError ? shape.contentType : "application/json" };
  return new Response(toExactJson(json), { status, headers });
}

/** The members of a JSON object; undefined if it is none, which the server rejects. */
function membersOf(body: Uint8Array | undefined): Json | undefined {
  try {
    const value = parseExactJson(decodeUtf8(body ?? new Uint8Array()) ?? "");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
