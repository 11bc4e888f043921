// Describes the failures of operations: codes, header fields, and examples.

import { type ApiError, type ErrorCode, errorRegistry } from "../base/errors.ts";
import { tokenField } from "../contract/access.ts";
import { type Contract, requiresMatch } from "../contract/contract.ts";
import { type ErrorShape, formOf, pathOfPart } from "../contract/error-format.ts";
import { uncapitalized } from "../contract/words.ts";
import type { Operation } from "../http/operation.ts";
import type { ResponseObject } from "./description.ts";
import { ErrorExamples, type ExampleOperation, toExamples } from "./failure-examples.ts";
import { headerReferences } from "./served-components.ts";

/** An operation whose failures are described. */
export interface FailingOperation extends ExampleOperation {
  readonly kind: OperationKind;
  /** Whether it takes If-Match. */
  readonly isConditional?: boolean;
}

/**
 * Operations that differ in their failures: those that read a body, those that read parameters, those
 * that respond as described, and those that are not served.
 */
type OperationKind = "create" | "withBody" | "withoutBody" | "asDescribed" | "implemented" | "unserved";

/** The failures of operations, with the messages of a server. */
export class FailureResponses {
  readonly #contract: Contract;
  readonly #examples: ErrorExamples;
  readonly #errorSchema: object;

  /** @param operations those besides the creates. */
  constructor(
    contract: Contract,
    operations: readonly Operation[],
    { basePath, errorSchema }: { readonly basePath: string; readonly errorSchema: object },
  ) {
    this.#contract = contract;
    this.#examples = new ErrorExamples(contract, operations, basePath);
    this.#errorSchema = errorSchema;
  }

  /** The failures of an operation, by status. */
  of(operation: FailingOperation): Record<string, ResponseObject> {
    const responses: Record<string, ResponseObject> = {};
    const { errors: format, collection } = operation;
    const takesMatch = operation.isConditional && collection !== undefined && requiresMatch(collection);
    const common = this.#contract.errors.shape;
    const field = tokenField(operation.access);
    // The messages of a server are those of a collection.
    const isAsDescribed = operation.kind === "asDescribed" || operation.kind === "implemented";
    const all = codesOf[operation.kind].filter(
      (code) =>
        !(code === "preconditionFailed" && !operation.isConditional) &&
        !(code === "preconditionRequired" && !takesMatch) &&
        !(code === "conflict" && operation.isConditional) &&
        !(code === "invalidParameter" && operation.kind === "create" && collection?.id.isRequired) &&
        !(code === "missingToken" && operation.access.isOpen) &&
        !(code === "invalidToken" && field === undefined) &&
        !(code === "insufficientScope" && operation.access.scopes === undefined),
    );
    const schemaOf = (shape: ErrorShape) =>
      shape === common || shape.schema === undefined ? this.#errorSchema : shape.schema;
    for (const [status, codes] of Map.groupBy(all, (code) => formOf(format, code).status)) {
      const shape = format.shapes[status] ?? format.shape;
      const errors = isAsDescribed ? {} : this.#examples.of(codes, operation);
      responses[status] = {
        description: describeFailure(status, codes, operation),
        headers: headersOf(codes, errors),
        content: {
          [shape.contentType]: { schema: schemaOf(shape), examples: toExamples(format, errors) },
        },
      };
    }
    if (!isAsDescribed)
      responses.default = {
        description: otherFailures(format.shape),
        content: { [format.shape.contentType]: { schema: schemaOf(format.shape) } },
      };
    return responses;
  }
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
  { missingToken, invalidToken, insufficientScope, methodNotAllowed }: Partial<Record<ErrorCode, ApiError>>,
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

const codesOf: Readonly<Record<OperationKind, readonly ErrorCode[]>> = {
  create: Object.keys(errorRegistry).filter(
    (code) => !["notImplemented", "preconditionFailed", "preconditionRequired"].includes(code),
  ) as ErrorCode[],
  withBody: Object.keys(errorRegistry).filter((code) => code !== "notImplemented") as ErrorCode[],
  withoutBody: [
    "invalidParameter",
    "preconditionFailed",
    "preconditionRequired",
    "missingToken",
    "invalidToken",
    "insufficientScope",
    "notFound",
    "methodNotAllowed",
    "tooManyRequests",
    "internalError",
    "unavailable",
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
