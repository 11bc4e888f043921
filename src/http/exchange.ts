// Carries one request of the public listener from its arrival to its one response. Its operation, the
// time-out of its body, and the commit of a create all respond through this object, and the first of
// them wins.

import type { Caller } from "../auth/caller.ts";
import { ApiError, internalError, unavailable } from "../base/errors.ts";
import { hasLongBody } from "../base/long-body.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { CalledOperation, Clock, Emit, Result } from "../base/server-event.ts";
import type { Contract } from "../contract/contract.ts";
import { type ErrorFormat, formOf } from "../contract/error-format.ts";
import { TurnTimeout } from "../store/groups.ts";
import { PlantTooLarge } from "../store/plant-store.ts";
import { WrongStatement } from "../store/sql-connection.ts";
import { type BodyOwner, noSlot } from "./body-reader.ts";
import type { RateLimitResult } from "./rate-limit.ts";
import { errorResponse } from "./responses.ts";
import type { TickBudget } from "./tick-budget.ts";

/** The status that nginx logs for a client that has left; HTTP has none. */
const clientClosedRequest = 499;

/** The error of an operation that found no turn, or no memory for what it reads or returns. */
export function notRun(): ApiError {
  return unavailable("The server is overloaded and did not run the operation");
}

/** The error of what the store has no room for in one row: on PostgreSQL some 8 KB of short values. */
export const rowTooLarge = new ApiError(
  "contentTooLarge",
  "The values are more than the store can keep in one row; send fewer or shorter ones.",
);

/** The route of a request, as far as the log, metrics and traces need it. */
export interface RequestRoute {
  readonly method: string;
  readonly path: string;
  /** Undefined if no operation has the method and the path. */
  readonly operation: (CalledOperation & { readonly errors?: ErrorFormat | undefined }) | undefined;
}

/** Dependencies that all exchanges of a listener share. */
export interface ExchangeDependencies {
  readonly contract: Contract;
  /** Returns the address that a client has sent a request to, by the one that the server got. */
  readonly addressOf: (url: string) => string;
  /** Makes the id of a request that has none. */
  readonly makeRequestId: () => string;
  readonly tickBudget: TickBudget;
  readonly now: Clock;
  readonly emit: Emit;
}

export class Exchange implements BodyOwner {
  readonly request: Request;
  readonly requestId: string;
  /** The client, once it is authenticated. */
  caller: Caller | undefined = undefined;
  /** Set where callers have a rate. */
  rateLimit: RateLimitResult | undefined = undefined;
  reservedBytes = 0;
  timeoutSlot = noSlot;
  #isSettled = false;
  readonly #shared: ExchangeDependencies;
  readonly #route: RequestRoute;
  readonly #traceparent: string | null;
  readonly #startedAt: number;
  readonly #shouldClose: () => boolean;
  readonly #resolve: (response: Response) => void;

  /**
   * @param shouldClose whether the connection is closed after the response.
   * @param resolve gets the response.
   */
  constructor(
    request: Request,
    route: RequestRoute,
    shared: ExchangeDependencies,
    shouldClose: () => boolean,
    resolve: (response: Response) => void,
  ) {
    this.request = request;
    this.#route = route;
    this.#shared = shared;
    this.#shouldClose = shouldClose;
    this.#resolve = resolve;
    this.#startedAt = shared.now();
    const { headers } = request;
    const traceparent = headers.get("traceparent");
    const traceId = traceIdOf(traceparent);
    this.#traceparent = traceId === undefined ? null : traceparent;
    this.requestId = requestIdOf(headers.get("x-request-id"), traceId, shared.makeRequestId);
  }

  /** Whether the response is decided, so that no further work is needed. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  get callerKey(): string {
    return this.caller?.key ?? "";
  }

  /** The address that the client has sent the request to. */
  get url(): string {
    return this.#shared.addressOf(this.request.url);
  }

  /** Claims the response; false if it is decided already. Whoever has claimed it responds once. */
  #claim(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    return true;
  }

  /** Responds to a create, with a response that has X-Request-Id. */
  replyCreated(response: Response, result: "created" | "unchanged"): void {
    if (!this.#claim()) return;
    this.#complete(response.status, result, undefined);
    this.#send(response);
  }

  /** Responds to an operation other than a create, with a response that has X-Request-Id. */
  reply(response: Response): void {
    if (!this.#claim()) return;
    this.#paced(() => {
      this.#complete(response.status, "completed", undefined);
      this.#send(response);
    });
  }

  /** Responds with an error. */
  reject(error: ApiError): void {
    if (!this.#claim()) return;
    const send = this.#guarded(() => this.#sendError(error));
    if (!this.request.bodyUsed && hasLongBody(this.request.headers)) {
      // Sent at once: Bun buffers the body until the response.
      send();
      void this.request.body?.cancel().catch(() => undefined);
    } else this.#paced(send);
  }

  /**
   * Ends the exchange with what was thrown.
   *
   * @param isRepeatable whether the client may send the request again.
   */
  fail(thrown: unknown, isRepeatable = true): void {
    if (this.#isSettled) return;
    // Bun rejects the reading of a body with it.
    if (thrown instanceof DOMException && this.request.signal.aborted) this.#abort();
    else this.reject(this.#errorOf(thrown, isRepeatable));
  }

  /** An exception is a bug, unless it is an error of the store. */
  #errorOf(thrown: unknown, isRepeatable: boolean): ApiError {
    const { emit } = this.#shared;
    if (thrown instanceof ApiError) return thrown;
    if (thrown instanceof TurnTimeout) return notRun();
    if (thrown instanceof PlantTooLarge) return rowTooLarge;
    if (thrown instanceof OperatorError && !(thrown instanceof WrongStatement)) {
      const operation = this.#route.operation?.operationId ?? this.#route.method;
      emit({ kind: "operationFailed", operation, reason: thrown.message });
      return unavailable("The store cannot be used now", isRepeatable);
    }
    emit({ kind: "internalError", requestId: this.requestId, error: thrown });
    return internalError(isRepeatable);
  }

  /** Ends an exchange whose client has aborted its body. */
  #abort(): void {
    if (!this.#claim()) return;
    this.#complete(clientClosedRequest, "clientAborted", undefined);
    // Nobody receives it.
    this.#send(new Response(null, { status: clientClosedRequest }));
  }

  /** Sends a response that needed no commit, if necessary at the end of the tick. */
  #paced(send: () => void): void {
    const endOfTick = this.#shared.tickBudget.countResponse();
    if (endOfTick === undefined) this.#guarded(send)();
    else void endOfTick.then(this.#guarded(send));
  }

  /** Responds with 500 instead of what cannot be sent, such as a header field with a line end. */
  #guarded(send: () => void): () => void {
    return () => {
      try {
        send();
      } catch (error) {
        this.#shared.emit({ kind: "internalError", requestId: this.requestId, error });
        this.#sendError(internalError(false));
      }
    };
  }

  #sendError(error: ApiError): void {
    const format = this.#route.operation?.errors ?? this.#shared.contract.errors;
    this.#complete(formOf(format, error.code).status, error.code, error.details.logged ?? error.message);
    this.#send(errorResponse(format, error, this.requestId));
  }

  #complete(status: number, result: Result, message: string | undefined): void {
    const { emit, now } = this.#shared;
    const request = {
      requestId: this.requestId,
      traceparent: this.#traceparent,
      method: this.#route.method,
      path: this.#route.path,
      operation: this.#route.operation,
      startedAt: this.#startedAt,
      endedAt: now(),
      status,
      result,
      message,
      caller: this.caller?.name,
    };
    emit({ kind: "requestCompleted", request });
  }

  #send(response: Response): void {
    if (this.rateLimit !== undefined) {
      response.headers.set("RateLimit-Policy", this.rateLimit.policy);
      response.headers.set("RateLimit", this.rateLimit.field);
    }
    // RFC 9112, section 9.6: otherwise the client sends its next request on a closing connection.
    if (this.#shouldClose()) response.headers.set("Connection", "close");
    this.#resolve(response);
  }
}

/** Ids that are accepted from clients: without spaces, quotes and control characters. */
const wellFormedId = /^[\w.~:+/=@-]{1,128}$/;

/** W3C Trace Context, section 3.2: version, trace id, parent id, flags; ids are not all zeros. */
const wellFormedTraceparent =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/;

/** The id of the trace that a traceparent names; undefined if it is malformed. */
function traceIdOf(traceparent: string | null): string | undefined {
  return traceparent === null ? undefined : wellFormedTraceparent.exec(traceparent)?.[1];
}

/** The client's X-Request-Id, or the id of its trace, if well-formed; otherwise a new one. */
function requestIdOf(sent: string | null, traceId: string | undefined, make: () => string): string {
  return sent !== null && wellFormedId.test(sent) ? sent : (traceId ?? make());
}

/** Makes ids of a prefix and a number. */
export function requestIdMaker(): () => string {
  const prefix = crypto.randomUUID().slice(0, 8);
  let requests = 0;
  return () => `${prefix}-${(++requests).toString(36)}`;
}
