// The failures of operations as the description has them: codes, header fields, and examples with
// the messages that the server sends.

import { invalidTokenError, missingTokenError } from "../core/auth/authenticator.ts";
import { unknownToken } from "../core/auth/token-cache.ts";
import { type Contract, type Plant, withValue } from "../core/contract/contract.ts";
import { apiErrorMembers } from "../core/contract/error-shape.ts";
import { ApiError, type ErrorCode, errorRegistry, isErrorCode, statusOf } from "../core/contract/errors.ts";
import { bodyJson, conflictError, parsePlantJson } from "../core/contract/plant.ts";
import { type Access, tokenField } from "../core/contract/security.ts";
import { createOperation } from "../core/http/create-plant.ts";
import { checkPreconditions, entityTag } from "../core/http/entity-tag.ts";
import { internalError, overloaded } from "../core/http/exchange.ts";
import type { Operation } from "../core/http/operation.ts";
import { type Route, routerOf } from "../core/http/router.ts";
import { notServed, unservedOperations } from "../core/http/unserved-operations.ts";
import type { DescribedResponse, Example } from "./description.ts";
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
  readonly access: Access;
  readonly kind: OperationKind;
  /** Whether it takes If-Match. */
  readonly isConditional?: boolean;
  readonly method: string;
  /** Its path, in which braces are parameters. */
  readonly path: string;
}

/**
 * Which operation fails: one that reads a body, one that reads parameters, or one that is not
 * served.
 */
type OperationKind = "create" | "withBody" | "withoutBody" | "unserved";

/** The failures of operations, with the messages of a server. */
export class FailureResponses {
  readonly #contract: Contract;
  readonly #basePath: string;
  readonly #findRoute: (method: string, path: string) => Route;
  readonly #errorSchema: object;

  /** @param operations those besides the create. */
  constructor(
    contract: Contract,
    operations: readonly Operation[],
    { basePath, errorSchema }: { readonly basePath: string; readonly errorSchema: object },
  ) {
    const served = [createOperation(contract), ...operations];
    this.#contract = contract;
    this.#findRoute = routerOf([...served, ...unservedOperations(contract, served)], basePath, contract);
    this.#basePath = basePath;
    this.#errorSchema = errorSchema;
  }

  /** The failures of an operation, by status. */
  of(operation: FailingOperation): Record<string, DescribedResponse> {
    const responses: Record<string, DescribedResponse> = {};
    const { contentType } = this.#contract.errorShape;
    const field = tokenField(operation.access);
    const all = codesOf[operation.kind].filter(
      (code) =>
        !(code === "preconditionFailed" && !operation.isConditional) &&
        !(code === "conflict" && operation.isConditional) &&
        !(code === "invalidParameter" && operation.kind === "create" && this.#contract.id.isRequired) &&
        !(code === "missingToken" && operation.access.isOpen) &&
        !(code === "invalidToken" && field === undefined),
    );
    for (const [status, codes] of Map.groupBy(all, statusOf)) {
      const errors = this.#errors(codes, operation);
      responses[status] = {
        description: this.#describe(status, codes, operation),
        headers: headersOf(codes, errors),
        content: {
          [contentType]: { schema: this.#errorSchema, examples: toExamples(this.#contract, errors) },
        },
      };
    }
    responses.default = {
      description: otherFailures(this.#contract),
      content: { [contentType]: { schema: this.#errorSchema } },
    };
    return responses;
  }

  #describe(status: number, codes: readonly ErrorCode[], { method, path }: FailingOperation): string {
    const meanings = codes.map((code) => {
      const isOfOne = code === "notFound" && method === "GET" && path.includes("{");
      const detail = isOfOne ? `, or no ${this.#contract.words.one} with this id` : (details[code] ?? "");
      return `${errorRegistry[code].error}: ${inSentence(errorRegistry[code].meaning)}${detail}.`;
    });
    if (status !== 400) return meanings.join(" ");
    return `The request is invalid.

${meanings.join(" ")}

A request that is not well-formed HTTP/1.1 gets a bare 400 from the HTTP parser: no body, none of these headers, and the connection is closed.`;
  }

  #errors(codes: readonly ErrorCode[], operation: FailingOperation): Partial<Record<ErrorCode, ApiError>> {
    // Mocks answer every invalid body with the first one.
    const inOrder = codes.toSorted(
      (one, other) => Number(other === "invalidPlant") - Number(one === "invalidPlant"),
    );
    const errors = inOrder.map((code) => [code, this.#error(code, operation)] as const);
    return Object.fromEntries(errors.filter(([, error]) => error !== undefined));
  }

  /** An error with the message of a server; undefined if there is no such message. */
  #error(code: ErrorCode, { method, path, access }: FailingOperation): ApiError | undefined {
    const contract = this.#contract;
    const [plant] = contract.examples as readonly [Plant];
    const { titleField } = contract;
    const wrongId = contract.id.type.kind === "integer" ? '"1"' : "1";
    switch (code) {
      case "badRequest":
        return new ApiError(code, 'The Content-Length is "26, 26"; send it once, as one decimal number.');
      case "invalidJson":
        return errorOfBody(contract, `{${JSON.stringify(contract.fields[0]?.name ?? "id")}: }`);
      case "invalidPlant":
        return errorOfBody(
          contract,
          contract.id.isAccepted ? `{${JSON.stringify(contract.id.name)}: ${wrongId}}` : "[]",
        );
      case "unstorableText": {
        if (titleField === undefined) return undefined;
        const values = withValue(contract, plant.values, titleField, "Monst\0era");
        const error = errorOfBody(contract, bodyJson(contract, { ...plant, values }));
        return error?.code === code ? error : undefined;
      }
      case "preconditionFailed":
        return checkPreconditions(new Headers({ "If-Match": '"x"' }), entityTag(contract, plant));
      case "conflict":
        return conflictError(contract, plant, !contract.id.isRequired);
      case "missingToken":
        return missingTokenError(access);
      case "invalidToken":
        return invalidTokenError(unknownToken, access);
      case "notFound":
        return this.#errorOfRoute("POST", contract.path.slice(0, -1));
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
          "This token is over its rate of 10 creates a second; try again in 1 second.",
        );
      case "internalError":
        return internalError();
      case "unavailable":
        return overloaded(contract);
      case "notImplemented":
        return notServed(contract, method, path);
      case "invalidParameter":
        return undefined;
    }
  }

  #errorOfRoute(method: string, path: string): ApiError | undefined {
    const route = this.#findRoute(method, this.#basePath + path);
    return route.operation === undefined ? route.error : undefined;
  }
}

function errorOfBody(contract: Contract, body: string): ApiError | undefined {
  const [{ id }] = contract.examples as readonly [Plant];
  const result = parsePlantJson(contract, body, contract.id.isRequired ? undefined : () => id);
  return result instanceof ApiError ? result : undefined;
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
  { missingToken, invalidToken, methodNotAllowed }: Partial<Record<ErrorCode, ApiError>>,
): Record<string, object> {
  const names = ["X-Request-Id", "Cache-Control"];
  if (!codes.some((code) => errorsBeforeRate.includes(code))) names.push("RateLimit", "RateLimit-Policy");
  if (codes.some((code) => code === "tooManyRequests" || code === "unavailable")) names.push("Retry-After");
  const own: Record<string, object> = {};
  const unauthenticated = missingToken ?? invalidToken;
  if (unauthenticated !== undefined)
    own["WWW-Authenticate"] = {
      description: "The scheme to use (RFC 6750, section 3).",
      schema: {
        type: "string",
        examples: [unauthenticated.details.challenge ?? 'Bearer realm="plantstore"'],
      },
    };
  if (codes.includes("methodNotAllowed"))
    own.Allow = {
      description: "The methods that the path offers.",
      schema: { type: "string", examples: [methodNotAllowed?.details.allow ?? "POST"] },
    };
  return { ...headerReferences(names), ...own };
}

const codesOf: Readonly<Record<OperationKind, readonly ErrorCode[]>> = {
  create: Object.keys(errorRegistry).filter(
    (code) => !["notImplemented", "preconditionFailed"].includes(code),
  ) as ErrorCode[],
  withBody: Object.keys(errorRegistry).filter((code) => code !== "notImplemented") as ErrorCode[],
  withoutBody: [
    "invalidParameter",
    "preconditionFailed",
    "missingToken",
    "invalidToken",
    "notFound",
    "methodNotAllowed",
    "tooManyRequests",
    "internalError",
    "unavailable",
  ],
  unserved: ["missingToken", "invalidToken", "notImplemented"],
};

/** The default limits, and what the server does besides. */
const details: Partial<Record<ErrorCode, string>> = {
  badRequest: "; the connection is closed",
  requestTimeout: " (within 20 seconds by default); the connection is closed",
  contentTooLarge: " (1 MiB by default)",
  tooManyRequests: " (off by default)",
};

function otherFailures({ errorShape }: Contract): string {
  const code = errorShape.members.find(([, holds]) => holds.startsWith("code"));
  const status = code === undefined ? "" : ` The first three digits of \`${code[0]}\` are the status.`;
  return `Any other failure, of a proxy before this server or of a later version of it.${status}

This server sends no other status but 431 (the header fields are too large or too many) and 505 (the version of HTTP is not 1.0 or 1.1).
They come from the HTTP parser and are bare: no body, no headers but \`Connection: close\`, and the connection is closed.`;
}

function toExamples(
  { errorShape }: Contract,
  errors: Partial<Record<ErrorCode, ApiError>>,
): Record<string, Example> {
  const named = Object.values(errors).map(({ code, message }) => {
    const { error, meaning } = errorRegistry[code];
    const [start = ""] = meaning.split(/[,;]/);
    const summary = `${error}, ${inSentence(start)}`;
    const value = apiErrorMembers(errorShape, { code, message });
    return [exampleNames[code] ?? code, { summary, value }] as const;
  });
  return Object.fromEntries(named);
}

function inSentence(meaning: string): string {
  return meaning.slice(0, 1).toLowerCase() + meaning.slice(1);
}
