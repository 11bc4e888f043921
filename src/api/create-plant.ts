// The one operation: POST {base}/plants. What happens to a request, in the order in which it happens.

import type { Authenticator } from "../auth/authenticator.ts";
import { ApiError, unavailable } from "../contract/errors.ts";
import { conflictError, type NewPlant, parseNewPlant } from "../contract/plant.ts";
import type { CreateOutcome, GroupCommit } from "../store/group-commit.ts";
import { authenticateRequest } from "./bearer.ts";
import type { Bodies } from "./body.ts";
import { checkMediaType } from "./media-type.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { PublicRequestRecord } from "./request-record.ts";

/** What creating a plant needs of the house. */
export interface CreatePlantDependencies {
  readonly credentials: Authenticator;
  readonly groupCommit: Pick<GroupCommit, "create" | "isFullFor">;
  readonly bodies: Bodies;
  /** Undefined where callers may send any number of creates. */
  readonly rateLimit: RateLimit | undefined;
}

/** A plant that is on stable storage. */
export interface CreatedPlant {
  readonly plant: NewPlant;
  readonly outcome: "created" | "unchanged";
}

/** The plant, once it is on stable storage, or why it is not. */
export async function createPlant(
  request: Request,
  exchange: PublicRequestRecord,
  { credentials, rateLimit, bodies, groupCommit }: CreatePlantDependencies,
): Promise<CreatedPlant | ApiError> {
  const judged = authenticateRequest(request.headers, credentials);
  const caller = judged instanceof Promise ? await judged : judged;
  if (caller instanceof ApiError) return caller;
  exchange.caller = caller.name;

  const tooManyRequests = rateLimit?.consume(caller, exchange);
  if (tooManyRequests !== undefined) return tooManyRequests;

  // Ahead of the body: where there is too much to do already, a refusal is to be cheap.
  if (groupCommit.isFullFor(caller.key)) return overloaded();

  const unsupportedMediaType = checkMediaType(request.headers);
  if (unsupportedMediaType !== undefined) return unsupportedMediaType;

  const newPlant = await bodies.read(request, caller, parseNewPlant);
  if (newPlant instanceof ApiError) return newPlant;

  const outcome = await groupCommit.create(newPlant, caller.key);
  return outcome === "created" || outcome === "unchanged"
    ? { plant: newPlant, outcome }
    : refusalOf(outcome, newPlant);
}

function refusalOf(outcome: Exclude<CreateOutcome, CreatedPlant["outcome"]>, newPlant: NewPlant): ApiError {
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
