// The one operation, POST {base}/plants: everything that happens to a request, in its order.

import { ApiError } from "../contract/errors.ts";
import { parseNewPlant, sampleBody } from "../contract/plant.ts";
import { checkMediaType } from "./body-reader.ts";
import { type Exchange, overloaded } from "./exchange.ts";
import type { Operation, OperationServices } from "./operation.ts";

/** The row of the create in the table of operations. */
export const createPlantOperation: Operation = {
  operationId: "createPlant",
  method: "POST",
  path: "/plants",
  advice: ` with Content-Type: application/json and a body such as ${sampleBody(1n)}`,
  run: createPlant,
};

/**
 * Responds with 200 and the Plant once it is on stable storage, or with the error that prevented
 * it. Never rejects. The commit settles the exchange, and so does a body that does not arrive in
 * time: a race of promises for each body took 0.7 µs.
 */
async function createPlant(
  exchange: Exchange,
  { authenticator, findCreator, rateLimit, bodyReader, groupCommit }: OperationServices,
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
      if (caller.creator === undefined) {
        const unavailable = await findCreator(caller);
        if (unavailable !== undefined) return exchange.reject(unavailable);
      }
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
