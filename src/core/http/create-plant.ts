// Runs a create, such as POST {base}/plants: everything that happens to the request, in its order.

import type { Caller } from "../auth/caller.ts";
import type { Collection } from "../contract/contract.ts";
import { ApiError } from "../contract/errors.ts";
import { parseCreate, sampleBody } from "../contract/plant.ts";
import type { IdFormat, PlantId } from "../contract/plant-id.ts";
import { checkMediaType } from "./body-reader.ts";
import { overloaded } from "./create-errors.ts";
import type { CreateTarget, Exchange } from "./exchange.ts";
import { idempotencyKey, idOfKey } from "./new-ids.ts";
import type { Operation, OperationServices } from "./operation.ts";
import { checkHeaders } from "./required-headers.ts";

/** The ids that a create tries. */
export const takenIdsMax = 100;

/** The row of the create in the table of operations. */
export function createOperation(collection: Collection): Operation {
  return {
    operationId: collection.operations.create.operationId,
    method: "POST",
    path: collection.path,
    errors: collection.operations.create.errors,
    advice: ` with Content-Type: application/json and a body such as ${sampleBody(collection, 1n)}`,
    run: (exchange, services) => createPlant(collection, exchange, services),
  };
}

/**
 * The path before an id and after it, which a success has as its Location; undefined if it is no 201,
 * or no operation returns what was created.
 */
export function itemPathOf(
  { operations, itemPath }: Collection,
  basePath: string,
  offered: readonly Operation[],
): readonly string[] | undefined {
  const isOffered = offered.some(
    ({ method, path, advice }) => method === "GET" && advice !== undefined && path === itemPath,
  );
  return operations.create.status === 201 && isOffered ? `${basePath}${itemPath}`.split("{id}") : undefined;
}

/**
 * Responds with success and the plant once it is on stable storage, or with the error that
 * prevented it. Never rejects. The commit settles the exchange, and so does a body that does not
 * arrive in time: a race of promises for each body took 0.7 µs.
 */
async function createPlant(
  collection: Collection,
  exchange: Exchange,
  { targets, authenticator, resolveCreator, rateLimit, bodyReader, groupCommit }: OperationServices,
): Promise<void> {
  try {
    const { headers } = exchange.request;
    const authenticated = authenticator.authenticate(headers, collection.operations.create.access);
    const caller = authenticated instanceof Promise ? await authenticated : authenticated;
    if (caller instanceof ApiError) return exchange.reject(caller);
    exchange.caller = caller;

    const rate = rateLimit?.consume(caller);
    exchange.rateLimit = rate;
    if (rate?.error !== undefined) return exchange.reject(rate.error);

    // Checked before the body is read: under overload a rejection must be cheap.
    if (groupCommit.isFullFor(caller.key)) return exchange.reject(overloaded(collection));

    const unsupported = checkMediaType(headers);
    if (unsupported !== undefined) return exchange.reject(unsupported);

    const { headers: required } = collection.operations.create;
    const unfit = required && checkHeaders(headers, required);
    if (unfit !== undefined) return exchange.reject(unfit);

    const target = targets.get(collection.table) as CreateTarget;
    exchange.target = target;
    const { newId } = target;
    const chooseId = collection.id.isRequired ? undefined : idChooser(exchange, caller, collection, newId);
    if (chooseId instanceof ApiError) return exchange.reject(chooseId);

    try {
      const body = await bodyReader.start(exchange.request, exchange);
      if (exchange.isSettled) return;
      const plant = body instanceof ApiError ? body : parseCreate(collection, body, chooseId);
      if (plant instanceof ApiError) return exchange.reject(plant);
      exchange.plant = plant;
      if (caller.creator === undefined) {
        // The store may take longer than a body may take to arrive.
        bodyReader.stopTimeout(exchange);
        const unavailable = await resolveCreator(caller);
        if (unavailable !== undefined) return exchange.reject(unavailable);
      }
    } catch (error) {
      if (!exchange.request.signal.aborted) throw error;
      return exchange.abort();
    } finally {
      bodyReader.end(exchange);
    }

    if (exchange.idSource === "server") {
      let retries = 0;
      exchange.onTakenId = () => {
        // Of short ids, all may be taken.
        if (++retries === takenIdsMax) exchange.onTakenId = undefined;
        exchange.plant = { id: newId(), values: exchange.plant.values };
        groupCommit.create(exchange);
      };
    }
    groupCommit.create(exchange);
  } catch (error) {
    exchange.fail(error);
  }
}

/** Chooses the id of a body without one, and says so to the exchange. */
function idChooser(
  exchange: Exchange,
  caller: Caller,
  { id: { format }, path, words, requiresKey }: Collection,
  newId: () => PlantId,
): (() => PlantId) | ApiError {
  const key = idempotencyKey(exchange.request.headers);
  if (key instanceof ApiError) return key;
  if (key === undefined && requiresKey)
    return new ApiError(
      "invalidParameter",
      `The header Idempotency-Key is missing; send one that is new for each ${words.one}, such as a UUID.`,
    );
  return () => {
    exchange.idSource = key === undefined ? "server" : "key";
    return key === undefined ? newId() : idOfKey(format as IdFormat, caller, path, key);
  };
}
