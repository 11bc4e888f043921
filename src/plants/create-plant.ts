// Runs a create, such as POST {base}/plants: everything that happens to the request, in its order.

import type { Caller } from "../auth/caller.ts";
import { ApiError } from "../base/errors.ts";
import type { Collection, Plant } from "../contract/contract.ts";
import { parseCreate, sampleBody } from "../contract/plant.ts";
import type { Exchange } from "../http/exchange.ts";
import { admit, type Operation, type OperationRow, type OperationServices } from "../http/operation.ts";
import { checkHead, jsonOnly } from "../http/request-head.ts";
import { ChosenId, CreateKey, idempotencyKey } from "./new-ids.ts";
import { type CreateTarget, overloaded, PlantCreate } from "./pending-create.ts";

/** The row of the create in the table of operations. */
export function createRow(collection: Collection): OperationRow {
  return {
    operationId: collection.operations.create.operationId,
    method: "POST",
    path: collection.path,
    serves: { collection: collection.name, action: "create" },
    errors: collection.operations.create.errors,
    isServed: true,
    advice: ` with Content-Type: application/json and a body such as ${sampleBody(collection, 1n)}`,
  };
}

export function createOperation(target: CreateTarget): Operation {
  const row = createRow(target.collection);
  return { ...row, run: (exchange, services) => createPlant(target, exchange, services) };
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
    ({ method, path, isServed }) => method === "GET" && isServed && path === itemPath,
  );
  return operations.create.status === 201 && isOffered ? `${basePath}${itemPath}`.split("{id}") : undefined;
}

/**
 * Responds with success and the plant once it is on stable storage, or with the error that
 * prevented it. Never rejects. The commit responds through the exchange, and so does a body that does
 * not arrive in time.
 */
async function createPlant(
  target: CreateTarget,
  exchange: Exchange,
  services: OperationServices,
): Promise<void> {
  const { collection } = target;
  const { resolveCreator, bodyReader, groupCommit } = services;
  const { access, checked } = collection.operations.create;
  try {
    const admitting = admit(exchange, services, access);
    const refused = admitting instanceof Promise ? await admitting : admitting;
    if (refused !== undefined) return exchange.reject(refused);
    const caller = exchange.caller as Caller;

    // Checked before the body is read: under overload a rejection must be cheap.
    if (groupCommit.isFullFor(caller.key)) return exchange.reject(overloaded(collection));

    const { headers } = exchange.request;
    const key = collection.id.isRequired ? undefined : createKey(collection, caller, headers);
    if (key instanceof ApiError) return exchange.reject(key);

    const unfit = checkHead(exchange.request, checked, jsonOnly);
    if (unfit !== undefined) return exchange.reject(unfit);

    let plant: Plant;
    let chosen: ChosenId | undefined;
    const chooseId = collection.id.isRequired
      ? undefined
      : () => {
          chosen = new ChosenId(collection, key, target.newId);
          return chosen.first();
        };
    try {
      const body = await bodyReader.start(exchange.request, exchange);
      if (exchange.isSettled) return;
      const parsed = body instanceof ApiError ? body : parseCreate(collection, body, chooseId);
      if (parsed instanceof ApiError) return exchange.reject(parsed);
      plant = parsed;
      if (caller.creator === undefined) {
        // The store may take longer than a body may take to arrive.
        bodyReader.stopTimeout(exchange);
        const unavailable = await resolveCreator(caller);
        if (unavailable !== undefined) return exchange.reject(unavailable);
      }
    } finally {
      bodyReader.end(exchange);
    }

    groupCommit.create(new PlantCreate(exchange, target, groupCommit, plant, chosen));
  } catch (error) {
    exchange.fail(error);
  }
}

/** The key of a request that has one; an error if it cannot be one, or is missing. */
function createKey(
  collection: Collection,
  caller: Caller,
  headers: Headers,
): CreateKey | undefined | ApiError {
  const key = idempotencyKey(headers);
  if (key instanceof ApiError) return key;
  if (key !== undefined) return new CreateKey(collection, caller, key);
  if (!collection.requiresKey) return undefined;
  return new ApiError(
    "invalidParameter",
    `The header Idempotency-Key is missing; send one that is new for each ${collection.words.one}, such as a UUID.`,
  );
}
