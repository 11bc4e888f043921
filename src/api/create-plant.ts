// The one operation: POST {base}/plants. What happens to a request, in the order in which it happens.

import { ContractError, unavailable } from "../contract/errors.ts";
import { conflictWith, type NewPlant, readNewPlant } from "../contract/plant.ts";
import type { CreateOutcome, GroupCommit } from "../store/group-commit.ts";
import type { KnownTokens } from "../tokens/known-tokens.ts";
import type { Answers } from "./answers.ts";
import { judgeCredentials } from "./bearer.ts";
import { judgeMediaType, readBody } from "./body.ts";
import type { RateLimit } from "./rate-limit.ts";

/** What creating a plant needs of the house. */
export interface CreatePlantNeeds {
  readonly tokens: KnownTokens;
  readonly groupCommit: GroupCommit;
  /** Undefined where tokens may send any number of creates. */
  readonly rateLimit: RateLimit | undefined;
  readonly answers: Answers;
  readonly bodyBytesMax: number;
}

/** Answers 200 once the plant is on stable storage, or an Error that says why it is not. */
export async function createPlant(request: Request, needs: CreatePlantNeeds): Promise<Response> {
  const { tokens, rateLimit, groupCommit, answers, bodyBytesMax } = needs;

  const judged = judgeCredentials(request.headers, tokens);
  const token = judged instanceof Promise ? await judged : judged;
  if (token instanceof ContractError) return answers.error(token);

  const overRate = rateLimit === undefined ? undefined : await rateLimit.take(token);
  if (overRate !== undefined) return answers.error(overRate);

  const notJsonMediaType = judgeMediaType(request.headers);
  if (notJsonMediaType !== undefined) return answers.error(notJsonMediaType);

  const body = await readBody(request, bodyBytesMax);
  if (body instanceof ContractError) return answers.error(body);

  const newPlant = readNewPlant(body);
  if (newPlant instanceof ContractError) return answers.error(newPlant);

  const outcome = await groupCommit.create(newPlant);
  const refusal = refusalOf(outcome, newPlant);
  return refusal === undefined ? answers.plant(newPlant) : answers.error(refusal);
}

function refusalOf(outcome: CreateOutcome, newPlant: NewPlant): ContractError | undefined {
  switch (outcome) {
    case "created":
    case "unchanged":
      return undefined;
    case "conflict":
      return conflictWith(newPlant);
    case "overloaded":
      return unavailable("The server is overloaded and did not store the plant");
    case "closed":
      return unavailable("The server is stopping and did not store the plant");
    case "unavailable":
      return unavailable("The store cannot be written at present, and the plant may not be stored");
  }
}
