// Makes the responses that a sandbox sends instead of the server's: errors, examples, and any
// other.

import type { Outcome } from "../../packages/sandbox/src/control-types.ts";
import { invalidTokenError, missingTokenError } from "../auth/authenticator.ts";
import type { Caller } from "../auth/caller.ts";
import { unknownToken } from "../auth/token-cache.ts";
import { ApiError, type ErrorCode, errorRegistry } from "../base/errors.ts";
import type { Clock, Emit } from "../base/server-event.ts";
import type { Collection, Contract } from "../contract/contract.ts";
import { type ErrorShape, errorMembers, pathOfPart } from "../contract/error-format.ts";
import { errorsBeforeRate } from "../docs-page/failure-responses.ts";
import { Exchange, type ExchangeDependencies, requestIdMaker } from "../http/exchange.ts";
import type { RequestContext } from "../http/handler.ts";
import type { OperationRow } from "../http/operation.ts";
import { RateLimit, type RateLimitResult } from "../http/rate-limit.ts";
import type { Route } from "../http/router.ts";
import { TickBudget } from "../http/tick-budget.ts";
import { toExactJson } from "../json/exact-json.ts";
import type { Json } from "../json/json-values.ts";
import type { RequestRoutes } from "./request-routes.ts";
import { type Example, type Examples, errorCodes, examplesOf } from "./response-examples.ts";

/** The route of a request in a sandbox, which the server finds again. */
export type FoundRoute = Route<OperationRow>;

export interface RoutedContext extends Omit<RequestContext, "route"> {
  readonly route: FoundRoute;
}

export interface ForcedResponsesOptions {
  readonly contract: Contract;
  readonly routes: RequestRoutes;
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The rate limit of the server; undefined if it has none. */
  readonly rateLimit: RateLimits | undefined;
  readonly now: Clock;
  readonly emit: Emit;
}

interface RateLimits {
  readonly requestsPerSecond: number;
  readonly burst: number;
}

/** The rate that a forced 42900 names if the server has none; its example has the same. */
const sampleRate: RateLimits = { requestsPerSecond: 10, burst: 10 };

/** The caller of forced errors, whose token is not checked. */
const sandboxCaller: Caller = { key: "sandbox", name: "sandbox", creator: undefined };

export class ForcedResponses {
  readonly #routes: RequestRoutes;
  readonly #basePath: string;
  readonly #rateLimit: RateLimits | undefined;
  readonly #shared: ExchangeDependencies;
  #examplesOf: ReturnType<typeof examplesOf> | undefined;

  constructor({ contract, routes, basePath, rateLimit, now, emit }: ForcedResponsesOptions) {
    this.#basePath = basePath;
    this.#routes = routes;
    this.#rateLimit = rateLimit;
    this.#shared = {
      contract,
      addressOf: (url) => url,
      makeRequestId: requestIdMaker(),
      tickBudget: new TickBudget(),
      now,
      emit,
    };
  }

  /** The examples of a collection, made when the first request needs them. */
  examplesOf(collection: Collection | undefined): Examples {
    this.#examplesOf ??= examplesOf(this.#shared.contract, this.#basePath);
    return this.#examplesOf(collection);
  }

  /** Makes the error, example or other response of an outcome. */
  async make(
    request: Request,
    context: RoutedContext,
    { error, example: exampleName, response }: Outcome,
  ): Promise<Response> {
    const { contract } = this.#shared;
    if (response !== undefined) return toResponse(contract.errors.shape, response);
    const own = this.#routes.collectionOf(context.route);
    // A rule for all collections may name the example of another one.
    const example = [own, ...contract.collections]
      .map((collection) => this.examplesOf(collection).byName.get(exampleName ?? ""))
      .find((each) => each !== undefined);
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

  #exampleResponse(example: Example | undefined): Response {
    const headers = { "Content-Type": "application/json", "X-Request-Id": this.#shared.makeRequestId() };
    return new Response(toExactJson(example?.value), { status: example?.status ?? 200, headers });
  }

  /** Makes an error with its example's message; without an example a 42900 names the rate. */
  #forcedError(code: ErrorCode, example: Example | undefined, route: FoundRoute): ApiError {
    const rateError = this.#rateOf(code)?.error;
    if (rateError !== undefined && example === undefined) return rateError;
    const names = pathOfPart(this.#shared.contract.errors.shape, "message") ?? ["message"];
    const value: unknown = (example ?? this.examplesOf(this.#routes.collectionOf(route)).of(code))?.value;
    const message = names.reduce<unknown>((part, name) => (part as Json | undefined)?.[name], value);
    return new ApiError(
      code,
      String(message ?? `${errorRegistry[code].meaning}.`),
      rateError?.details ?? this.#detailsOf(code, route.path),
    );
  }

  #detailsOf(code: ErrorCode, path: string): ApiError["details"] | undefined {
    if (code === "unavailable") return { retryAfterSeconds: 1 };
    const { access } = this.#shared.contract;
    if (code === "missingToken") return missingTokenError(access).details;
    if (code === "invalidToken") return invalidTokenError(unknownToken, access).details;
    if (code !== "methodNotAllowed") return undefined;
    const route = this.#routes.find("", path);
    return route.operation === undefined ? route.error.details : undefined;
  }

  /** The state of the rate limit after a first create, or after one create too many. */
  #rateOf(code: ErrorCode | undefined): RateLimitResult | undefined {
    const isOver = code === "tooManyRequests";
    const limits = this.#rateLimit ?? (isOver ? sampleRate : undefined);
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

function toResponse(shape: ErrorShape, { status, body }: NonNullable<Outcome["response"]>): Response {
  if ([204, 205, 304].includes(status)) return new Response(null, { status });
  if (typeof body === "string") return new Response(body, { status });
  const isError = body === undefined && status >= 400;
  const message = "The sandbox was told to respond with this status.";
  const json = isError
    ? errorMembers(shape, { code: 100 * status, status, title: `Status ${status}`, message })
    : body;
  if (json === undefined) return new Response(null, { status });
  const headers = { "Content-Type": isError ? shape.contentType : "application/json" };
  return new Response(toExactJson(json), { status, headers });
}
