// The one operation, POST {base}/plants: everything that happens to a request, in its order.

import type { Authenticator } from "../auth/authenticator.ts";
import { ApiError } from "../contract/errors.ts";
import { parseNewPlant } from "../contract/plant.ts";
import type { CreateQueue } from "../store/group-commit.ts";
import { type BodyReader, checkMediaType } from "./body-reader.ts";
import { type Exchange, overloaded } from "./exchange.ts";
import type { RateLimit } from "./rate-limit.ts";

export interface CreatePlantDependencies {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  /** Undefined where callers have no rate. */
  readonly rateLimit: Pick<RateLimit, "consume"> | undefined;
  readonly bodyReader: Pick<BodyReader, "start" | "end">;
  readonly groupCommit: Pick<CreateQueue, "create" | "isFullFor">;
}

/**
 * Responds with 200 and the Plant once it is on stable storage, or with the error that prevented
 * it. Never rejects. The commit settles the exchange, and so does a body that does not arrive in
 * time: a race of promises for each body took 0.7 µs.
 */
export async function createPlant(
  exchange: Exchange,
  { authenticator, rateLimit, bodyReader, groupCommit }: CreatePlantDependencies,
): Promise<void> {
  try {
    const { headers } = exchange.request;
    const authenticated = authenticator.authenticate(headers);
    const caller = authenticated instanceof Promise ? await authenticated : authenticated;
    if (caller instanceof ApiError) return exchange.reject(caller);
    exchange.caller = caller;

    const rate = rateLimit?.consume(caller);
    exchange.rateLimit = rate;
    if (rate?.error !== undefined) return exchange.reject(rate.error);

    // Checked before the body is read: under overload a rejection must be cheap.
    if (groupCommit.isFullFor(caller.key)) return exchange.reject(overloaded());

    const unsupported = checkMediaType(headers);
    if (unsupported !== undefined) return exchange.reject(unsupported);

    try {
      const body = await bodyReader.start(exchange.request, exchange);
      if (exchange.isSettled) return;
      const plant = body instanceof ApiError ? body : parseNewPlant(body);
      if (plant instanceof ApiError) return exchange.reject(plant);
      exchange.plant = plant;
    } catch (error) {
      if (!exchange.request.signal.aborted) throw error;
      return exchange.abort();
    } finally {
      bodyReader.end(exchange);
    }

    groupCommit.create(exchange);
  } catch (error) {
    exchange.fail(error);
  }
}
