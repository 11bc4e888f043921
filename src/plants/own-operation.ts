// Defines an operation of one's own, whose handler gets the store that it may change.

import { ApiError } from "../base/errors.ts";
import { withinTime } from "../base/time-limit.ts";
import type { Operation } from "../http/operation.ts";
import type { OperationCall } from "./define-operation.ts";
import { type DeclaredInput, defineOperation, type OperationOptions } from "./define-operation.ts";
import { type CollectionTypes, type OwnStore, ownStore } from "./own-store.ts";
import type { Parameters } from "./parameters.ts";

/** The argument of the handler of an operation of one's own, besides what was sent. */
export interface OwnCall<Types extends CollectionTypes>
  extends Pick<OperationCall, "caller" | "url" | "headers" | "contract"> {
  readonly store: OwnStore<Types>;
}

export function ownCall<Types extends CollectionTypes>(call: OperationCall): OwnCall<Types> {
  const { caller, url, headers, contract } = call;
  return { caller, url, headers, contract, store: ownStore(call) };
}

/** `--idle-seconds-max` would soon close the connection without a response. */
const handlerMsMax = 60_000;

/** Runs a handler; rejects if it has not responded after a time. Its later response is nobody's. */
export function runHandler<Value>(
  handle: () => Promise<Value> | Value,
  msMax = handlerMsMax,
): Promise<Value> {
  return withinTime(Promise.try(handle), msMax, "an operation");
}

/** An error for a handler to return or throw: by its name or number, or by the HTTP status. */
export function error(code: ApiError["code"], message: string): ApiError {
  return new ApiError(code, message);
}

/**
 * Makes an operation that no contract describes: it authenticates, validates, and responds with what its
 * handler returns.
 */
export function defineOwnOperation<
  const Declared extends Parameters = Record<never, never>,
  Body = undefined,
>(options: OperationOptions<Declared, Body, OwnCall<CollectionTypes>>): Operation {
  const { handle } = options;
  return defineOperation<Declared, Body>({
    ...options,
    handle: (call: OperationCall & DeclaredInput<Declared, Body>) =>
      runHandler(() => handle({ ...ownCall(call), parameters: call.parameters, body: call.body })),
  });
}
