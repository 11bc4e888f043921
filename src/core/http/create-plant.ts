// The one operation, POST {base}/plants: what happens to a request, in the order in which it happens.

import type { Authenticator } from "../auth/authenticator.ts";
import { ApiError, unavailable } from "../contract/errors.ts";
import { conflictError, type NewPlant, parseNewPlant } from "../contract/plant.ts";
import type { CreateOutcome, CreateQueue, PendingCreate } from "../store/group-commit.ts";
import { type BodyReader, checkMediaType } from "./body-reader.ts";
import type { RateLimit } from "./rate-limit.ts";
import { type PublicRequestRecord, plantResponse, type ResponseValue } from "./responses.ts";

export interface CreatePlantDependencies {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  /** Undefined where callers have no rate. */
  readonly rateLimit: Pick<RateLimit, "consume"> | undefined;
  readonly bodyReader: Pick<BodyReader, "start">;
  readonly groupCommit: Pick<CreateQueue, "create" | "isFullFor">;
}

/** Where the response to a request goes. Only its first call counts. */
export interface Responder {
  respond(value: ResponseValue): void;
  refuse(error: ApiError): void;
  /** For what no response tells: an exception, or a client that has aborted its body. */
  fail(error: unknown): void;
}

/**
 * Responds with 200 and the Plant once it is on stable storage, or with the error that prevented it. Never rejects. The
 * response goes to a responder: the time-out of a body responds while the body is still awaited, and the group commit when
 * the batch is on the disk. A race of promises for each body took 0.7 µs.
 */
export async function createPlant(
  request: Request,
  record: PublicRequestRecord,
  { authenticator, rateLimit, bodyReader, groupCommit }: CreatePlantDependencies,
  responder: Responder,
): Promise<void> {
  try {
    const authenticated = authenticator.authenticate(request.headers);
    const caller = authenticated instanceof Promise ? await authenticated : authenticated;
    if (caller instanceof ApiError) return responder.refuse(caller);
    record.caller = caller.name;

    const rate = rateLimit?.consume(caller);
    record.rateLimit = rate?.field;
    if (rate?.error !== undefined) return responder.refuse(rate.error);

    // Before the body is read: under overload a rejection must be cheap.
    if (groupCommit.isFullFor(caller.key)) return responder.refuse(overloaded());

    const unsupportedMediaType = checkMediaType(request.headers);
    if (unsupportedMediaType !== undefined) return responder.refuse(unsupportedMediaType);

    const reading = bodyReader.start(request, caller, responder);
    if (reading instanceof ApiError) return responder.refuse(reading);
    let newPlant: NewPlant | ApiError;
    try {
      const body = await reading.body;
      if (reading.hasTimedOut) return;
      newPlant = body instanceof ApiError ? body : parseNewPlant(body);
    } finally {
      reading.end();
    }
    if (newPlant instanceof ApiError) return responder.refuse(newPlant);

    groupCommit.create(new CommitResponder(newPlant, caller.key, responder));
  } catch (error) {
    responder.fail(error);
  }
}

/** Responds when the plant's batch is committed. */
class CommitResponder implements PendingCreate {
  readonly plant: NewPlant;
  readonly creator = null;
  readonly callerKey: string;
  readonly #responder: Responder;

  constructor(plant: NewPlant, callerKey: string, responder: Responder) {
    this.plant = plant;
    this.callerKey = callerKey;
    this.#responder = responder;
  }

  settle(outcome: CreateOutcome): void {
    try {
      if (outcome === "created" || outcome === "unchanged")
        this.#responder.respond(plantResponse(this.plant, outcome));
      else this.#responder.refuse(toApiError(outcome, this.plant));
    } catch (error) {
      // The other plants of the batch get their outcomes.
      this.#responder.fail(error);
    }
  }

  fail(error: unknown): void {
    this.#responder.fail(error);
  }
}

function toApiError(outcome: Exclude<CreateOutcome, "created" | "unchanged">, newPlant: NewPlant): ApiError {
  switch (outcome) {
    case "conflict":
      return conflictError(newPlant);
    case "overloaded":
      return overloaded();
    case "closed":
      return unavailable("The server is stopping and did not store the plant");
    case "unavailable":
      return unavailable("The store cannot be written at present, and the plant may not be stored");
  }
}

function overloaded(): ApiError {
  return unavailable("The server is overloaded and did not store the plant");
}
