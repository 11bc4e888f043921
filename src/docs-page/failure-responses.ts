// Describes the failures of operations: codes, header fields, and an example of each.

import { missingTokenError } from "../auth/authenticator.ts";
import { type ErrorCode, errorRegistry, isErrorCode } from "../base/errors.ts";
import { type Access, tokenField } from "../contract/access.ts";
import { type Collection, type Contract, requiresMatch } from "../contract/contract.ts";
import {
  apiErrorMembers,
  type ErrorFormat,
  type ErrorShape,
  formOf,
  pathOfPart,
} from "../contract/error-format.ts";
import { uncapitalized } from "../contract/words.ts";
import type { Example, ResponseObject } from "./description.ts";
import { headerReferences } from "./served-components.ts";

/** An operation whose failures are described. */
export interface FailingOperation {
  readonly kind: OperationKind;
  /** Undefined for an operation of none. */
  readonly collection: Collection | undefined;
  readonly access: Access;
  readonly errors: ErrorFormat;
  readonly path: string;
  /** Whether it takes If-Match. */
  readonly isConditional?: boolean;
}

/**
 * Operations that differ in their failures: those that read a body, those that read parameters, those
 * that respond as described, and those that are not served.
 */
type OperationKind = "create" | "withBody" | "withoutBody" | "asDescribed" | "implemented" | "unserved";

/** The failures of an operation, by status. */
export function failuresOf(
  { errors: { shape: common } }: Contract,
  operation: FailingOperation,
  errorSchema: object,
): Record<string, ResponseObject> {
  const { kind, errors: format } = operation;
  const responses: Record<string, ResponseObject> = {};
  const schemaOf = (shape: ErrorShape) => (shape === common ? errorSchema : (shape.schema ?? errorSchema));
  // There is no message of the server in a response that is as described.
  const hasExamples = kind !== "asDescribed" && kind !== "implemented";
  for (const [status, codes] of Map.groupBy(codesOf(operation), (code) => formOf(format, code).status)) {
    const shape = format.shapes[status] ?? format.shape;
    const examples = hasExamples ? Object.fromEntries(codes.map((code) => exampleOf(format, code))) : {};
    responses[status] = {
      description: describeFailure(status, codes),
      headers: headersOf(codes, operation.access),
      content: { [shape.contentType]: { schema: schemaOf(shape), examples } },
    };
  }
  if (kind !== "asDescribed" && kind !== "implemented")
    responses.default = {
      description: otherFailures(format.shape),
      content: { [format.shape.contentType]: { schema: schemaOf(format.shape) } },
    };
  return responses;
}

/** The errors that an operation may have. */
function codesOf({ kind, collection, access, isConditional }: FailingOperation): ErrorCode[] {
  const isLeftOut: Partial<Record<ErrorCode, boolean>> = {
    preconditionFailed: isConditional !== true,
    preconditionRequired: isConditional !== true || collection === undefined || !requiresMatch(collection),
    conflict: isConditional === true,
    invalidParameter: kind === "create" && collection?.id.isRequired === true,
    missingToken: access.isOpen,
    invalidToken: tokenField(access) === undefined,
    insufficientScope: access.scopes === undefined,
  };
  // Mocks answer every invalid body with the first example.
  return codesOfKind[kind]
    .filter((code) => isLeftOut[code] !== true)
    .toSorted((one, other) => Number(other === "invalidPlant") - Number(one === "invalidPlant"));
}

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

/** An error as a named example, with what all errors of its code have in common as its message. */
function exampleOf(format: ErrorFormat, code: ErrorCode): readonly [name: string, example: Example] {
  const { error, meaning, remedy } = errorRegistry[code];
  const [start = ""] = meaning.split(/[,;]/);
  const value = apiErrorMembers(format, { code, message: `${meaning}. ${remedy}` });
  return [exampleNames[code] ?? code, { summary: `${error}, ${uncapitalized(start)}`, value }];
}

/** The default limits, and what the server does besides. */
const details: Partial<Record<ErrorCode, string>> = {
  badRequest: "; the connection is closed",
  requestTimeout: " (within 20 seconds by default); the connection is closed",
  contentTooLarge: " (1 MiB by default)",
  tooManyRequests: " (off by default)",
};

function describeFailure(status: number, codes: readonly ErrorCode[]): string {
  const meanings = codes.map((code) => {
    const { error, meaning } = errorRegistry[code];
    return `${error}: ${uncapitalized(meaning)}${details[code] ?? ""}.`;
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

function headersOf(codes: readonly ErrorCode[], access: Access): Record<string, object> {
  const names = ["X-Request-Id", "Cache-Control"];
  if (!codes.some((code) => errorsBeforeRate.includes(code))) names.push("RateLimit", "RateLimit-Policy");
  if (codes.some((code) => code === "tooManyRequests" || code === "unavailable")) names.push("Retry-After");
  const own: Record<string, object> = {};
  if (codes.some((code) => ["missingToken", "invalidToken", "insufficientScope"].includes(code)))
    own["WWW-Authenticate"] = {
      description: "The scheme to use (RFC 6750, section 3).",
      schema: { type: "string" },
      example: missingTokenError(access).details.challenge ?? 'Bearer realm="plantstore"',
    };
  if (codes.includes("methodNotAllowed"))
    own.Allow = { description: "The methods that the path offers.", schema: { type: "string" } };
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

function otherFailures(shape: ErrorShape): string {
  const code = pathOfPart(shape, "code") ?? pathOfPart(shape, "codeText");
  const status = code === undefined ? "" : ` The first three digits of \`${code.join(".")}\` are the status.`;
  return `Any other failure, of a proxy before this server or of a later version of it.${status}

This server sends no other status but 431 (the header fields are too large or too many) and 505 (the version of HTTP is not 1.0 or 1.1).
They come from the HTTP parser and are bare: no body, no headers but \`Connection: close\`, and the connection is closed.`;
}
