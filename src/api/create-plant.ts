// The one operation: POST {base}/plants. What happens to a request, in the order in which it happens.

import { ContractError, unavailable } from "../contract/errors.ts";
import { conflictWith, type NewPlant, readNewPlant } from "../contract/plant.ts";
import type { CreateOutcome, GroupCommit } from "../store/group-commit.ts";
import type { Credentials } from "../tokens/credentials.ts";
import { judgeCredentials } from "./bearer.ts";
import type { Bodies } from "./body.ts";
import type { PublicExchange } from "./exchange.ts";
import { judgeMediaType } from "./media-type.ts";
import type { RateLimit } from "./rate-limit.ts";

/** What creating a plant needs of the house. */
export interface CreatePlantNeeds {
  readonly credentials: Credentials;
  readonly groupCommit: Pick<GroupCommit, "create" | "isFullFor">;
  readonly bodies: Bodies;
  /** Undefined where callers may send any number of creates. */
  readonly rateLimit: RateLimit | undefined;
}

/** A plant that is on stable storage. */
export interface Created {
  readonly plant: NewPlant;
  readonly outcome: "created" | "unchanged";
}

/** The plant, once it is on stable storage, or why it is not. */
export async function createPlant(
  request: Request,
  exchange: PublicExchange,
  { credentials, rateLimit, bodies, groupCommit }: CreatePlantNeeds,
): Promise<Created | ContractError> {
  const judged = judgeCredentials(request.headers, credentials);
  const caller = judged instanceof Promise ? await judged : judged;
  if (caller instanceof ContractError) return caller;
  exchange.caller = caller.name;

  const overRate = rateLimit?.take(caller, exchange);
  if (overRate !== undefined) return overRate;

  // Ahead of the body: where there is too much to do already, a refusal is to be cheap.
  if (groupCommit.isFullFor(caller.key)) return overloaded();

  const notJsonMediaType = judgeMediaType(request.headers);
  if (notJsonMediaType !== undefined) return notJsonMediaType;

  const newPlant = await bodies.read(request, caller, readNewPlant);
  if (newPlant instanceof ContractError) return newPlant;

  const outcome = await groupCommit.create(newPlant, caller.key);
  return outcome === "created" || outcome === "unchanged"
    ? { plant: newPlant, outcome }
    : refusalOf(outcome, newPlant);
}

function refusalOf(outcome: Exclude<CreateOutcome, Created["outcome"]>, newPlant: NewPlant): ContractError {
  switch (outcome) {
    case "conflict":
      return conflictWith(newPlant);
    case "overloaded":
      return overloaded();
    case "closed":
      return unavailable("The server is stopping and did not store the plant");
    case "unavailable":
      return unavailable("The store cannot be written at present, and the plant may not be stored");
  }
}

function overloaded(): ContractError {
  return unavailable("The server is overloaded and did not store the plant");
}
