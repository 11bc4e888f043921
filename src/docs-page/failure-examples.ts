// Makes examples of errors with the messages that a server sends, by the server's functions.

import { checkScopes, invalidTokenError, missingTokenError } from "../auth/authenticator.ts";
import { unknownToken } from "../auth/token-cache.ts";
import { ApiError, type ErrorCode, errorRegistry, internalError, isErrorCode } from "../base/errors.ts";
import type { Access } from "../contract/access.ts";
import type { Collection, Contract, Plant } from "../contract/contract.ts";
import { apiErrorMembers, type ErrorFormat } from "../contract/error-format.ts";
import { bodyJson, conflictError, parsePlantJson } from "../contract/plant.ts";
import { uncapitalized } from "../contract/words.ts";
import type { Operation, OperationRow } from "../http/operation.ts";
import { missingHeader } from "../http/request-head.ts";
import { type Route, routerOf } from "../http/router.ts";
import { notServed, unservedOperations } from "../http/unserved-operations.ts";
import { createRow } from "../plants/create-plant.ts";
import { overloaded } from "../plants/pending-create.ts";
import { checkPreconditions } from "../plants/preconditions.ts";
import { entityTag } from "../store/shared/entity-tag.ts";
import type { Example } from "./description.ts";

/** The names of examples that differ from those of their errors. */
const exampleNames: Partial<Record<ErrorCode, string>> = {
  missingToken: "missing",
  invalidToken: "notAccepted",
  contentTooLarge: "tooLarge",
  unavailable: "overloaded",
};

/** The code of an example that the server has added; undefined for another example. */
export function codeOfExample(name: string): ErrorCode | undefined {
  const renamed = Object.entries(exampleNames).find(([, each]) => each === name)?.[0] ?? name;
  return isErrorCode(renamed) ? renamed : undefined;
}

/** An operation for whose errors there are examples. */
export interface ExampleOperation {
  /** Its collection, in whose words messages are; undefined for an operation of none. */
  readonly collection: Collection | undefined;
  readonly access: Access;
  readonly errors: ErrorFormat;
  readonly method: string;
  /** Its path, in which braces are parameters. */
  readonly path: string;
}

/** The errors of operations, with the messages of a server. */
export class ErrorExamples {
  readonly #contract: Contract;
  readonly #basePath: string;
  readonly #findRoute: (method: string, path: string) => Route<OperationRow>;

  /** @param operations the ones other than the creates. */
  constructor(contract: Contract, operations: readonly Operation[], basePath: string) {
    const served = [...contract.collections.map(createRow), ...operations];
    this.#contract = contract;
    this.#findRoute = routerOf([...served, ...unservedOperations(contract)], basePath, contract);
    this.#basePath = basePath;
  }

  /** Returns the errors of those codes that have a message, keyed by code. */
  of(codes: readonly ErrorCode[], operation: ExampleOperation): Partial<Record<ErrorCode, ApiError>> {
    // Mocks answer every invalid body with the first example.
    const inOrder = codes.toSorted(
      (one, other) => Number(other === "invalidPlant") - Number(one === "invalidPlant"),
    );
    const errors = inOrder.map((code) => [code, this.#error(code, operation)] as const);
    return Object.fromEntries(errors.filter(([, error]) => error !== undefined));
  }

  /** An error with the message of a server; undefined if there is no such message. */
  #error(code: ErrorCode, { method, path, access, collection }: ExampleOperation): ApiError | undefined {
    switch (code) {
      case "badRequest":
        return new ApiError(code, 'The Content-Length is "26, 26"; send it once, as one decimal number.');
      case "invalidJson":
      case "invalidPlant":
      case "unstorableText":
      case "preconditionFailed":
      case "conflict":
      case "unavailable":
        return collection && errorOfCollection(code, collection);
      case "preconditionRequired":
        return missingHeader("If-Match", "a string");
      case "missingToken":
        return missingTokenError(access);
      case "invalidToken":
        return invalidTokenError(unknownToken, access);
      case "insufficientScope":
        return checkScopes({ scopes: [] }, access);
      case "notFound":
        return this.#errorOfRoute("POST", (collection?.path ?? path).replace(/\/$/, "").slice(0, -1));
      case "methodNotAllowed": {
        const target = path.replaceAll(/\{[^{}]*\}/g, "1");
        const errors = ["GET", "PUT", "PATCH", "DELETE", "POST"].map((each) =>
          this.#errorOfRoute(each, target),
        );
        return errors.find((error) => error?.code === code);
      }
      case "requestTimeout":
        return new ApiError(code, "The body did not arrive within 20 seconds; sending it again is safe.");
      case "contentTooLarge":
        return new ApiError(code, "The body is over the limit of 1048576 bytes; send a smaller one.");
      case "unsupportedMediaType":
        return new ApiError(code, "The Content-Type is text/plain; send application/json.");
      case "tooManyRequests":
        return new ApiError(
          code,
          "The rate limit of 10 creates a second is exceeded; try again in 1 second.",
        );
      case "internalError":
        return internalError();
      case "notImplemented":
        return notServed(this.#contract, method, path);
      case "invalidParameter":
        return undefined;
    }
  }

  #errorOfRoute(method: string, path: string): ApiError | undefined {
    const route = this.#findRoute(method, this.#basePath + path);
    return route.operation === undefined ? route.error : undefined;
  }
}

/** An error with a message about the resources of a collection. */
function errorOfCollection(
  code: "conflict" | "invalidJson" | "invalidPlant" | "preconditionFailed" | "unavailable" | "unstorableText",
  collection: Collection,
): ApiError | undefined {
  const { id, fields, titleField } = collection;
  const [plant] = collection.examples as readonly [Plant];
  const wrongId = id.type.kind.name === "integer" ? '"1"' : "1";
  switch (code) {
    case "invalidJson":
      return errorOfBody(collection, `{${JSON.stringify(fields[0]?.name ?? "id")}: }`);
    case "invalidPlant":
      return errorOfBody(collection, id.isAccepted ? `{${JSON.stringify(id.name)}: ${wrongId}}` : "[]");
    case "unstorableText": {
      if (titleField === undefined) return undefined;
      const values = plant.values.with(collection.fields.indexOf(titleField), "Monst\0era");
      const error = errorOfBody(collection, bodyJson(collection, { ...plant, values }));
      return error?.code === code ? error : undefined;
    }
    case "preconditionFailed":
      return checkPreconditions(
        new Headers({ "If-Match": '"x"' }),
        entityTag(collection, { ...plant, createdAt: 0, version: 0n }),
      );
    case "conflict":
      return conflictError(collection, plant, !id.isRequired);
    case "unavailable":
      return overloaded(collection);
  }
}

function errorOfBody(collection: Collection, body: string): ApiError | undefined {
  const [{ id }] = collection.examples as readonly [Plant];
  const result = parsePlantJson(collection, body, collection.id.isRequired ? undefined : () => id);
  return result instanceof ApiError ? result : undefined;
}

/** Errors as the named examples of a response. */
export function toExamples(
  format: ErrorFormat,
  errors: Partial<Record<ErrorCode, ApiError>>,
): Record<string, Example> {
  const named = (Object.entries(errors) as [ErrorCode, ApiError][]).map(([code, { message }]) => {
    const { error, meaning } = errorRegistry[code];
    const [start = ""] = meaning.split(/[,;]/);
    const summary = `${error}, ${uncapitalized(start)}`;
    const value = apiErrorMembers(format, { code, message });
    return [exampleNames[code] ?? code, { summary, value }] as const;
  });
  return Object.fromEntries(named);
}
