// Defines an operation of the public listener, what the served description says of it, and the parts
// of the server that it uses.

import { type Authenticator, checkScopes } from "../auth/authenticator.ts";
import type { AuthResult, ResolveCreator } from "../auth/caller.ts";
import { ApiError } from "../base/errors.ts";
import type { CalledOperation } from "../base/server-event.ts";
import type { Access } from "../contract/access.ts";
import type { Collection, Contract } from "../contract/contract.ts";
import type { ErrorFormat } from "../contract/error-format.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { CreateQueue } from "../store/group-commit.ts";
import type { OperationStore } from "../store/operation-store.ts";
import type { BodyReader } from "./body-reader.ts";
import type { Exchange } from "./exchange.ts";
import type { RateLimit } from "./rate-limit.ts";

export type Method = Contract["otherOperations"][number]["method"];

/** A row of the table of operations. Routes, CORS, and the errors of other paths follow from it. */
export interface OperationRow extends CalledOperation {
  readonly method: Method;
  /** False for an operation that is described but not served. */
  readonly isServed: boolean;
  /** The text after the method and the path in the message of methodNotAllowed. */
  readonly advice: string;
  /** How callers identify themselves; as for the create by default. */
  readonly access?: Access | undefined;
  /** How its errors are written; as the contract's by default. */
  readonly errors?: ErrorFormat | undefined;
  /** The part of the interface description; undefined if openapi.yaml describes the operation. */
  readonly described?: OperationDocument;
}

/** A row, and what it runs. */
export interface Operation extends OperationRow {
  /**
   * Settles the exchange. Never rejects.
   *
   * @param segments the texts of the path's parameters by name, without percent-encoding.
   */
  readonly run: (
    exchange: Exchange,
    services: OperationServices,
    segments: Readonly<Record<string, string>>,
  ) => Promise<void>;
}

/** The part of the served description that an operation brings along. */
export interface OperationDocument {
  readonly summary: string;
  readonly description: string;
  readonly parameters: ParameterDocuments;
  /** Whether it takes If-Match and If-None-Match. */
  readonly isConditional: boolean;
  /** The schema of the body; undefined if no body is read. */
  readonly body: object | undefined;
  /** The responses with a status below 400, by status. */
  readonly responses: Readonly<Record<string, ResponseDocument>>;
}

/** Keyed by name. */
export type ParameterDocuments = Readonly<Record<string, ParameterDocument>>;

/** A parameter: one of the path if the path names it in braces, otherwise one of the query. */
export interface ParameterDocument {
  readonly description: string;
  /** The schema of OpenAPI. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Undefined if the parameter is required. */
  readonly whenAbsent?: object;
}

interface ResponseDocument {
  readonly description: string;
  readonly headers?: Readonly<Record<string, object>>;
  /** The JSON that it has: one plant, an array of them, or what a schema of OpenAPI says. */
  readonly returns?: "one" | "list" | object;
}

/** The parts of the server that operations use. */
export interface OperationServices {
  readonly contract: Contract;
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly resolveCreator: ResolveCreator;
  /** Undefined where callers have no rate. */
  readonly rateLimit: RateLimit | undefined;
  readonly bodyReader: BodyReader;
  /** Makes the id of a resource without one. */
  readonly newId: (collection: Collection) => PlantId;
  readonly groupCommit: Pick<CreateQueue, "create" | "isFullFor">;
  /** Reads and edits for a caller; undefined if nothing needs them. */
  readonly storeOf: ((callerKey: string, isGone?: () => boolean) => OperationStore) | undefined;
}

/**
 * Finds the caller of a request, and counts it where callers have a rate: this comes first in every
 * operation. Returns a promise only if `authenticate` does.
 */
export function admit(
  exchange: Exchange,
  { authenticator, rateLimit }: Pick<OperationServices, "authenticator" | "rateLimit">,
  access: Access,
): ApiError | undefined | Promise<ApiError | undefined> {
  const result = authenticator.authenticate(exchange.request.headers, access);
  return result instanceof Promise
    ? result.then((each) => admitCaller(exchange, each, access, rateLimit))
    : admitCaller(exchange, result, access, rateLimit);
}

function admitCaller(
  exchange: Exchange,
  caller: AuthResult,
  access: Access,
  rateLimit: RateLimit | undefined,
): ApiError | undefined {
  if (caller instanceof ApiError) return caller;
  exchange.caller = caller;
  exchange.rateLimit = rateLimit?.consume(caller);
  return exchange.rateLimit?.error ?? (access.scopes && checkScopes(caller, access));
}

/** Responds with an error to callers with credentials, and with theirs to others. Never rejects. */
export async function rejectAuthenticated(
  exchange: Exchange,
  { authenticator, contract }: Pick<OperationServices, "authenticator" | "contract">,
  error: ApiError,
): Promise<void> {
  try {
    const access = { ...contract.access, scopes: undefined };
    const refused = await admit(exchange, { authenticator, rateLimit: undefined }, access);
    exchange.reject(refused ?? error);
  } catch (failure) {
    exchange.fail(failure);
  }
}
