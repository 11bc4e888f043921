// Carries one request of the public listener from its arrival to its one response. The time-out of
// its body, the queue and the commit settle this same object, and the first of them wins.

import type { Caller } from "../auth/caller.ts";
import type { Collection, Contract, Plant } from "../contract/contract.ts";
import { type ErrorFormat, formOf } from "../contract/error-format.ts";
import { type ApiError, internalError, unavailable } from "../contract/errors.ts";
import type { ResponseDetails } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { hasLongBody } from "../long-body.ts";
import type { Clock, Emit, RequestRecord, Result } from "../observability/server-event.ts";
import type { CreateOutcome, PendingCreate } from "../store/group-commit.ts";
import type { StoredPlant } from "../store/shared/recorded-plant.ts";
import { type BodyOwner, noSlot } from "./body-reader.ts";
import { errorOfOutcome, type IdSource, unreadable } from "./create-errors.ts";
import { entityTag } from "./entity-tag.ts";
import type { RateLimitResult } from "./rate-limit.ts";
import { requestIdOf, traceIdOf } from "./request-id.ts";
import { errorResponse, plantResponse } from "./responses.ts";
import type { TickBudget } from "./tick-budget.ts";

/** The status that nginx logs for a client that has left; HTTP has none. */
const clientClosedRequest = 499;

/** The route of a request, as far as the log, metrics and traces need it. */
export interface RequestRoute {
  readonly method: string;
  readonly path: string;
  /** Undefined if no operation has the method and the path. */
  readonly operation:
    | (NonNullable<RequestRecord["operation"]> & { readonly errors?: ErrorFormat | undefined })
    | undefined;
}

type Times = Pick<ResponseDetails, "createdAt" | "changedAt">;

/** What creates of a collection need besides it. */
export interface CreateTarget {
  readonly collection: Collection;
  /** Makes the id of a plant without one, where the contract lets the server choose it. */
  readonly newId: () => PlantId;
  /**
   * The path before an id and after it, where the success of a create has a Location: RFC 9110,
   * section 15.3.2.
   */
  readonly itemPath: readonly string[] | undefined;
  /**
   * Reads a plant that was stored before, and rejects if it cannot; undefined where the success of
   * a retry says nothing of it.
   */
  readonly readStored: ((id: PlantId) => Promise<StoredPlant>) | undefined;
  /**
   * Reads a plant that was created as it is given, and changed since; undefined if it was created
   * otherwise. Rejects if it cannot. Undefined where the store chooses no ids.
   */
  readonly readChanged?: ((plant: Plant) => Promise<StoredPlant | undefined>) | undefined;
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

export class Exchange implements PendingCreate, BodyOwner {
  readonly request: Request;
  readonly requestId: string;
  /** The client, once it is authenticated. */
  caller: Caller | undefined = undefined;
  /** Set where callers have a rate. */
  rateLimit: RateLimitResult | undefined = undefined;
  /** Set before the create is queued. */
  target!: CreateTarget;
  plant!: Plant;
  idSource: IdSource = "body";
  /** Set where the server has chosen the id: creates the plant again with another one. */
  onTakenId: (() => void) | undefined = undefined;
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

  get collection(): Collection {
    return this.target.collection;
  }

  get callerKey(): string {
    return this.caller?.key ?? "";
  }

  get creator(): number | null {
    return this.caller?.creator ?? null;
  }

  /** The address that the client has sent the request to. */
  get url(): string {
    return this.#shared.addressOf(this.request.url);
  }

  /** Responds to a create, once it has its outcome. */
  settle(outcome: CreateOutcome, createdAt?: number): void {
    if (outcome === "created" || outcome === "unchanged") this.#accept(outcome, createdAt);
    else if (outcome === "conflict" && this.onTakenId !== undefined) this.onTakenId();
    else if (outcome === "conflict" && this.idSource === "key") void this.#settleRetry();
    else this.#rejectOutcome(outcome);
  }

  /** Responds to an operation other than a create. */
  reply(response: Response): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    response.headers.set("X-Request-Id", this.requestId);
    this.#paced(() => {
      this.#complete(response.status, "completed", undefined);
      this.#send(response);
    });
  }

  /** Responds with an error. */
  reject(error: ApiError): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const send = () => this.#sendError(error);
    if (this.caller === undefined && hasLongBody(this.request.headers)) {
      // Sent at once: Bun buffers the body until the response. With pacing, 1,000 strangers with a
      // megabyte each took 1 GB.
      send();
      void this.request.body?.cancel().catch(() => undefined);
    } else this.#paced(send);
  }

  /** Ends an exchange that has met an exception. */
  fail(error: unknown): void {
    if (this.#isSettled) return;
    this.#shared.emit({ kind: "internalError", requestId: this.requestId, error });
    this.reject(internalError(this.idSource !== "server"));
  }

  /** Responds to an operation that the store has failed. */
  failStore({ message }: Error): void {
    if (this.#isSettled) return;
    const operation = this.#route.operation?.operationId ?? this.#route.method;
    this.#shared.emit({ kind: "operationFailed", operation, reason: message });
    this.reject(unavailable("The store cannot be used now"));
  }

  /** Ends an exchange whose client has aborted its body. */
  abort(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#complete(clientClosedRequest, "clientAborted", undefined);
    // Nobody receives it.
    this.#send(new Response(null, { status: clientClosedRequest }));
  }

  #accept(outcome: "created" | "unchanged", createdAt: number | undefined): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { readStored } = this.target;
    // A plant is unchanged under an id that the server chose if the engine lost a connection, and
    // committed the batch, with the same time, twice.
    if (outcome === "created" || this.idSource === "server") this.#sendPlant(outcome, { createdAt });
    else if (readStored === undefined) this.#sendPlant(outcome, {});
    else
      readStored(this.plant.id).then(
        (stored) => this.#sendStored(stored),
        () => this.#sendError(unreadable(this.collection, this.plant)),
      );
  }

  #sendStored(stored: StoredPlant): void {
    this.plant = stored.plant;
    this.#sendPlant("unchanged", stored);
  }

  /**
   * Responds to a create whose Idempotency-Key has created what is now another plant. If that was
   * first what this body has, the request was sent again, and has the plant as it is now.
   */
  async #settleRetry(): Promise<void> {
    try {
      const stored = await this.target.readChanged?.(this.plant);
      if (stored === undefined) return this.#rejectOutcome("conflict");
      if (this.#isSettled) return;
      this.#isSettled = true;
      this.#sendStored(stored);
    } catch {
      this.reject(unreadable(this.collection, this.plant));
    }
  }

  #rejectOutcome(outcome: Exclude<CreateOutcome, "created" | "unchanged">): void {
    this.reject(errorOfOutcome(outcome, this.collection, this.plant, this.idSource));
  }

  /** @param times none for a plant that may be stored in other words, such as 19.9 for 19.90. */
  #sendPlant(outcome: "created" | "unchanged", times: Times): void {
    const { collection, itemPath } = this.target;
    const { create, replace, change } = collection.operations;
    this.#complete(create.status, outcome, undefined);
    const response = plantResponse(collection, this.plant, this.requestId, times, this);
    if ((replace ?? change) !== undefined && times.createdAt !== undefined)
      response.headers.set("ETag", entityTag(collection, this.plant, times.createdAt));
    if (itemPath !== undefined)
      response.headers.set("Location", itemPath.join(encodeURIComponent(String(this.plant.id))));
    this.#send(response);
  }

  /** Sends a response that needed no commit, if necessary at the end of the tick. */
  #paced(send: () => void): void {
    const endOfTick = this.#shared.tickBudget.countResponse();
    if (endOfTick === undefined) send();
    else void endOfTick.then(send);
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
