// The console's form: a create by the operator, or through the public operation with a token that
// the operator gives.

import { ApiError } from "../core/contract/errors.ts";
import { parseNewPlant } from "../core/contract/plant.ts";
import { toApiError } from "../core/http/exchange.ts";
import { errorResponse, plantResponse } from "../core/http/responses.ts";
import type { ConsoleContext } from "./context.ts";
import type { Edits } from "./edits.ts";
import { BadRequestError } from "./responses.ts";

/** Sends a body to the public operation. */
export type PostPublicly = (headers: Headers, body: string) => Promise<Response>;

/**
 * Creates the plant of a body, and returns the whole response of the public operation. With an empty
 * token it is created by the operator, who needs none, with the same checks.
 */
export async function createPlant(
  context: ConsoleContext,
  edits: Edits,
  post: PostPublicly,
  { token, body }: { token: string; body: string },
  client: string,
) {
  if (token === "") return showResponse(await createByOperator(context, edits, body, client));
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new BadRequestError("The token has characters that a header field cannot hold; paste it again.");
  const headers = new Headers({ "Content-Type": "application/json", Authorization: `Bearer ${token}` });
  return showResponse(await post(headers, body));
}

async function createByOperator(
  { store, bodyBytesMax }: ConsoleContext,
  edits: Edits,
  body: string,
  client: string,
): Promise<Response> {
  const bytes = new TextEncoder().encode(body);
  if (bytes.length > bodyBytesMax)
    return errorResponse(
      new ApiError(
        "contentTooLarge",
        `The body is over the limit of ${bodyBytesMax} bytes; send a smaller plant.`,
      ),
    );
  const plant = parseNewPlant(bytes);
  if (plant instanceof ApiError) return errorResponse(plant);
  const [outcome = "unavailable"] = await store.create([{ plant, creator: null }]);
  if (outcome !== "created" && outcome !== "unchanged") return errorResponse(toApiError(outcome, plant));
  if (outcome === "created") edits.report("created", plant.id, client);
  return plantResponse(plant, crypto.randomUUID());
}

async function showResponse(response: Response) {
  return {
    status: response.status,
    headers: [...response.headers],
    body: await response.text(),
  };
}
