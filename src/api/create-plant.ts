// The one operation, POST {base}/plants: what happens to a request, in the order in which it happens.

import type { Authenticator } from "../auth/authenticator.ts";
import { ApiError, unavailable } from "../contract/errors.ts";
import { conflictError, type NewPlant, parseNewPlant } from "../contract/plant.ts";
import type { CreateOutcome, GroupCommit } from "../store/group-commit.ts";
import { type BodyReader, checkMediaType } from "./body-reader.ts";
import type { RateLimit } from "./rate-limit.ts";
import { errorResponse, type PublicRequestRecord, plantResponse, type ResponseValue } from "./responses.ts";

export interface CreatePlantDependencies {
  readonly authenticator: Authenticator;
  /** Undefined where callers have no rate. */
  readonly rateLimit: RateLimit | undefined;
  readonly bodyReader: BodyReader;
  readonly groupCommit: Pick<GroupCommit, "create" | "isFullFor">;
}

/** 200 with the Plant once it is on stable storage, or the error that prevented it. */
export async function createPlant(
  request: Request,
  record: PublicRequestRecord,
  { authenticator, rateLimit, bodyReader, groupCommit }: CreatePlantDependencies,
): Promise<ResponseValue> {
  const authenticated = authenticator.authenticate(request.headers);
  const caller = authenticated instanceof Promise ? await authenticated : authenticated;
  if (caller instanceof ApiError) return errorResponse(caller);
  record.caller = caller.name;

  const rate = rateLimit?.consume(caller);
  record.rateLimit = rate?.field;
  if (rate?.error !== undefined) return errorResponse(rate.error);

  // Before the body is read: under overload a rejection must be cheap.
  if (groupCommit.isFullFor(caller.key)) return errorResponse(overloaded());

  const unsupportedMediaType = checkMediaType(request.headers);
  if (unsupportedMediaType !== undefined) return errorResponse(unsupportedMediaType);

  const newPlant = await bodyReader.read(request, caller, parseNewPlant);
  if (newPlant instanceof ApiError) return errorResponse(newPlant);

  const outcome = await groupCommit.create(newPlant, caller.key);
  return outcome === "created" || outcome === "unchanged"
    ? plantResponse(newPlant, outcome)
    : errorResponse(toApiError(outcome, newPlant));
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
