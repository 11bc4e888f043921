// Describes the failures of operations: codes, header fields, and examples with the messages that a
// server sends, by the server's functions.

import { checkScopes, invalidTokenError, missingTokenError } from "../auth/authenticator.ts";
import { unknownToken } from "../auth/token-cache.ts";
import { ApiError, type ErrorCode, errorRegistry, internalError, isErrorCode } from "../base/errors.ts";
import { type Access, tokenField } from "../contract/access.ts";
import { type Collection, type Contract, type Plant, requiresMatch } from "../contract/contract.ts";
import {
  apiErrorMembers,
  type ErrorFormat,
  type ErrorShape,
  formOf,
  pathOfPart,
} from "../contract/error-format.ts";
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
import type { Example, ResponseObject } from "./description.ts";
import { headerReferences } from "./served-components.ts";

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

/** An operation whose failures are described. */
export interface FailingOperation {
  readonly kind: OperationKind;
  /** Its collection, in whose words messages are; undefined for an operation of none. */
  readonly collection: Collection | undefined;
  readonly access: Access;
  readonly errors: ErrorFormat;
  readonly method: string;
  /** Its path, in which braces are parameters. */
  readonly path: string;
  /** Whether it takes If-Match. */
  readonly isConditional?: boolean;
}

/**
 * Operations that differ in their failures: those that read a body, those that read parameters, those
 * that respond as described, and those that are not served.
 */
type OperationKind = "create" | "withBody" | "withoutBody" | "asDescribed" | "implemented" | "unserved";

type Errors = Partial<Record<ErrorCode, ApiError>>;

/** The failures of operations, with the messages of a server. */
export class FailureResponses {
  readonly #contract: Contract;
  readonly #basePath: string;
  readonly #errorSchema: object;
  readonly #findRoute: (method: string, path: string) => Route<OperationRow>;

  /** @param operations those besides the creates. */
  constructor(
    contract: Contract,
    operations: readonly Operation[],
    { basePath, errorSchema }: { readonly basePath: string; readonly errorSchema: object },
  ) {
    const served = [...contract.collections.map(createRow), ...operations];
    this.#contract = contract;
    this.#findRoute = routerOf([...served, ...unservedOperations(contract)], basePath, contract);
    this.#basePath = basePath;
    this.#errorSchema = errorSchema;
  }

  /** The failures of an operation, by status. */
  of(operation: FailingOperation): Record<string, ResponseObject> {
    const { errors: format, kind } = operation;
    const responses: Record<string, ResponseObject> = {};
    const common = this.#contract.errors.shape;
    // The messages of a server are those of a collection.
    const isAsDescribed = kind === "asDescribed" || kind === "implemented";
    const schemaOf = (shape: ErrorShape) =>
      shape === common || shape.schema === undefined ? this.#errorSchema : shape.schema;
    for (const [status, codes] of Map.groupBy(codesOf(operation), (code) => formOf(format, code).status)) {
      const shape = format.shapes[status] ?? format.shape;
      // Mocks answer every invalid body with the first example.
      const first = (code: ErrorCode) => Number(code !== "invalidPlant");
      const inOrder = isAsDescribed ? [] : codes.toSorted((one, other) => first(one) - first(other));
      const all = inOrder.map((code) => [code, this.#error(code, operation)] as const);
      const errors: Errors = Object.fromEntries(all.filter(([, error]) => error !== undefined));
      const examples = Object.values(errors).map((error) => exampleOf(format, error));
      responses[status] = {
        description: describeFailure(status, codes, operation),
        headers: headersOf(codes, errors),
        content: { [shape.contentType]: { schema: schemaOf(shape), examples: Object.fromEntries(examples) } },
      };
    }
    if (!isAsDescribed)
      responses.default = {
        description: otherFailures(format.shape),
        content: { [format.shape.contentType]: { schema: schemaOf(format.shape) } },
      };
    return responses;
  }

  /** An error with the message of a server; undefined if there is no such message. */
  #error(code: ErrorCode, operation: FailingOperation): ApiError | undefined {
    const { method, path, access, collection } = operation;
    switch (code) {
      case "badRequest":
        return new ApiError(code, 'The Content-Length is "26, 26"; send it once, as one decimal number.');
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
        return ["GET", "PUT", "PATCH", "DELETE", "POST"]
          .map((each) => this.#errorOfRoute(each, target))
          .find((error) => error?.code === code);
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
          "The rate limit of 10 requests a second is exceeded; try again in 1 second.",
        );
      case "internalError":
        return internalError();
      case "notImplemented":
        return notServed(this.#contract, method, path);
      default:
        return collection && errorOfCollection(code, collection);
    }
  }

  #errorOfRoute(method: string, path: string): ApiError | undefined {
    const route = this.#findRoute(method, this.#basePath + path);
    return route.operation === undefined ? route.error : undefined;
  }
}

/** An error with a message about the resources of a collection; undefined for one of another kind. */
function errorOfCollection(code: ErrorCode, collection: Collection): ApiError | undefined {
  const { id, fields, titleField } = collection;
  const [plant] = collection.examples as readonly [Plant];
  switch (code) {
    case "invalidJson":
      return errorOfBody(collection, `{${JSON.stringify(fields[0]?.name ?? "id")}: }`);
    case "invalidPlant": {
      const wrongId = id.type.kind.name === "integer" ? '"1"' : "1";
      return errorOfBody(collection, id.isAccepted ? `{${JSON.stringify(id.name)}: ${wrongId}}` : "[]");
    }
    case "unstorableText": {
      if (titleField === undefined) return undefined;
      const values = plant.values.with(fields.indexOf(titleField), "Monst\0era");
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
    default:
      return undefined;
  }
}

function errorOfBody(collection: Collection, body: string): ApiError | undefined {
  const [{ id }] = collection.examples as readonly [Plant];
  const result = parsePlantJson(collection, body, collection.id.isRequired ? undefined : () => id);
  return result instanceof ApiError ? result : undefined;
}

/** An error as a named example of a response. */
function exampleOf(format: ErrorFormat, { code, message }: ApiError): readonly [string, Example] {
  const { error, meaning } = errorRegistry[code as ErrorCode];
  const [start = ""] = meaning.split(/[,;]/);
  const value = apiErrorMembers(format, { code, message });
  const name = exampleNames[code as ErrorCode] ?? String(code);
  return [name, { summary: `${error}, ${uncapitalized(start)}`, value }];
}

/** The errors that an operation may have. */
function codesOf({ kind, collection, access, isConditional = false }: FailingOperation): ErrorCode[] {
  const isLeftOut: Partial<Record<ErrorCode, boolean>> = {
    preconditionFailed: !isConditional,
    preconditionRequired: !isConditional || collection === undefined || !requiresMatch(collection),
    conflict: isConditional,
    invalidParameter: kind === "create" && collection?.id.isRequired === true,
    missingToken: access.isOpen,
    invalidToken: tokenField(access) === undefined,
    insufficientScope: access.scopes === undefined,
  };
  return codesOfKind[kind].filter((code) => isLeftOut[code] !== true);
}

function describeFailure(
  status: number,
  codes: readonly ErrorCode[],
  { method, path, collection }: FailingOperation,
): string {
  const meanings = codes.map((code) => {
    const isOfOne = code === "notFound" && method === "GET" && path.includes("{");
    const detail =
      isOfOne && collection !== undefined
        ? `, or no ${collection.words.one} with this id`
        : (details[code] ?? "");
    return `${errorRegistry[code].error}: ${uncapitalized(errorRegistry[code].meaning)}${detail}.`;
  });
  if (status !== 400) return meanings.join(" ");
  return `The request is invalid.

${meanings.join(" ")}

A request that is not well-formed HTTP/1.1 gets a bare 400 from the HTTP parser: no body, none of these headers, and the connection is closed.`;
}

/** Errors of requests whose caller is not known yet, which has no rate then. */
export const errorsBeforeRate: readonly ErrorCode[] = [
  "missingToken",
  "invalidToken",
  "notFound",
  "methodNotAllowed",
];

function headersOf(
  codes: readonly ErrorCode[],
  { missingToken, invalidToken, insufficientScope, methodNotAllowed }: Errors,
): Record<string, object> {
  const names = ["X-Request-Id", "Cache-Control"];
  if (!codes.some((code) => errorsBeforeRate.includes(code))) names.push("RateLimit", "RateLimit-Policy");
  if (codes.some((code) => code === "tooManyRequests" || code === "unavailable")) names.push("Retry-After");
  const own: Record<string, object> = {};
  const unauthenticated = missingToken ?? invalidToken ?? insufficientScope;
  if (unauthenticated !== undefined)
    own["WWW-Authenticate"] = {
      description: "The scheme to use (RFC 6750, section 3).",
      schema: { type: "string" },
      example: unauthenticated.details.challenge ?? 'Bearer realm="plantstore"',
    };
  if (codes.includes("methodNotAllowed"))
    own.Allow = {
      description: "The methods that the path offers.",
      schema: { type: "string" },
      example: methodNotAllowed?.details.allow ?? "POST",
    };
  return { ...headerReferences(names), ...own };
}

/** The errors of an operation whose responses are as described. */
const describedCodes: readonly ErrorCode[] = [
  ...(["badRequest", "invalidJson", "invalidPlant", "invalidParameter", "missingToken", "notFound"] as const),
  ...(["methodNotAllowed", "requestTimeout", "contentTooLarge", "unsupportedMediaType"] as const),
  ...(["internalError", "unavailable"] as const),
];

const allCodes = Object.keys(errorRegistry) as ErrorCode[];
const codesOfKind: Readonly<Record<OperationKind, readonly ErrorCode[]>> = {
  create: allCodes.filter(
    (code) => !["notImplemented", "preconditionFailed", "preconditionRequired"].includes(code),
  ),
  withBody: allCodes.filter((code) => code !== "notImplemented"),
  withoutBody: [
    ...(["invalidParameter", "preconditionFailed", "preconditionRequired", "missingToken"] as const),
    ...(["invalidToken", "insufficientScope", "notFound", "methodNotAllowed", "tooManyRequests"] as const),
    ...(["internalError", "unavailable"] as const),
  ],
  asDescribed: [...describedCodes, "notImplemented"],
  implemented: [...describedCodes, "invalidToken", "insufficientScope", "tooManyRequests"],
  unserved: ["missingToken", "invalidToken", "notImplemented"],
};

/** The default limits, and what the server does besides. */
const details: Partial<Record<ErrorCode, string>> = {
  badRequest: "; the connection is closed",
  requestTimeout: " (within 20 seconds by default); the connection is closed",
  contentTooLarge: " (1 MiB by default)",
  tooManyRequests: " (off by default)",
};

function otherFailures(shape: ErrorShape): string {
  const code = pathOfPart(shape, "code") ?? pathOfPart(shape, "codeText");
  const status = code === undefined ? "" : ` The first three digits of \`${code.join(".")}\` are the status.`;
  return `Any other failure, of a proxy before this server or of a later version of it.${status}

This server sends no other status but 431 (the header fields are too large or too many) and 505 (the version of HTTP is not 1.0 or 1.1).
They come from the HTTP parser and are bare: no body, no headers but \`Connection: close\`, and the connection is closed.`;
}
