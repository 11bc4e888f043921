// Lists the errors of the public interface: a registry entry for each code, and the types from it.

/**
 * Every error of the public interface. `error` is the HTTP status times 100 plus a detail; `remedy` tells
 * a client what to do. docs/errors.md has them.
 */
export const errorRegistry = {
  badRequest: {
    error: 40000,
    meaning: "The Content-Length is not one decimal number",
    remedy: "Send the header once, or a chunked body. The connection is closed.",
  },
  invalidJson: {
    error: 40001,
    meaning: "The body is not JSON in UTF-8",
    remedy: "Correct it at the line and column in the message.",
  },
  invalidPlant: {
    error: 40002,
    meaning: "The body does not fit its schema",
    remedy: "Correct the fields that the message names.",
  },
  unstorableText: {
    error: 40003,
    meaning: "A string holds a character that cannot be stored",
    remedy: "Remove it; the message has its position.",
  },
  invalidParameter: {
    error: 40004,
    meaning: "A parameter of the path or the query, or a header field, is not valid",
    remedy: "Correct what the message names.",
  },
  conflict: {
    error: 40009,
    meaning: "The id is taken by one with other content",
    remedy:
      "Choose another id, or with an `Idempotency-Key` compare: what it made may have been changed since.",
  },
  missingToken: { error: 40100, meaning: "No token", remedy: "Send a token." },
  invalidToken: {
    error: 40101,
    meaning: "The token is not accepted",
    remedy: "Ask the operator, or the identity provider, for a new token.",
  },
  insufficientScope: {
    error: 40300,
    meaning: "The token lacks a scope that the operation requires",
    remedy: "Send a token with the scopes that the message names.",
  },
  notFound: {
    error: 40400,
    meaning: "There is nothing at the path",
    remedy: "Use a path of the description at `/openapi.json`, under the address of this server.",
  },
  methodNotAllowed: {
    error: 40500,
    meaning: "The path does not offer the method",
    remedy: "Use one that `Allow` names.",
  },
  requestTimeout: {
    error: 40800,
    meaning: "The body did not arrive in time",
    remedy: "Send it again, on a new connection.",
  },
  preconditionFailed: {
    error: 41200,
    meaning: "If-Match or If-None-Match does not hold",
    remedy: "Get the resource again, and decide by what it is now.",
  },
  contentTooLarge: {
    error: 41300,
    meaning: "The body is over the limit",
    remedy: "Send less; the operator can raise `--body-bytes-max`.",
  },
  unsupportedMediaType: {
    error: 41500,
    meaning: "The Content-Type is missing or not application/json, or the body has a Content-Encoding",
    remedy: "Send `Content-Type: application/json`, and the JSON as it is.",
  },
  preconditionRequired: {
    error: 42800,
    meaning: "If-Match is missing, which the operation requires",
    remedy: "Get the resource, and send its ETag as If-Match.",
  },
  tooManyRequests: {
    error: 42900,
    meaning: "Over the rate limit",
    remedy: "Wait for as many seconds as `Retry-After` says.",
  },
  internalError: {
    error: 50000,
    meaning: "Internal error; the details are in the server's log",
    remedy: "Send it again; if that does not help, tell the operator the `X-Request-Id`.",
  },
  notImplemented: {
    error: 50100,
    meaning: "The contract describes the operation, but it is not served",
    remedy: "Use another operation.",
  },
  unavailable: {
    error: 50300,
    meaning: "Overloaded, or the store or the identity provider cannot be reached",
    remedy:
      "Wait for as many seconds as `Retry-After` says, and send it again. Without it, look first: a create may be stored.",
  },
} as const;

export type ErrorCode = keyof typeof errorRegistry;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorRegistry, text);
}

/** The parts of an error besides its message: header fields, and its words for the log. */
interface ErrorDetails {
  /** The message for the log, where the one for the client quotes what it has sent. */
  readonly logged?: string;
  /** The value of Retry-After. */
  readonly retryAfterSeconds?: number;
  /** Whether the connection is closed, because the rest of the request is not read. */
  readonly closesConnection?: boolean;
  /** The value of Allow. */
  readonly allow?: string;
  /** The value of WWW-Authenticate, where no bearer token is wanted. */
  readonly challenge?: string;
}

/** An expected failure of a request. It is a value: it is returned, and not thrown. */
export class ApiError {
  /** The number of an error of somebody's own operation that the registry does not have. */
  readonly code: ErrorCode | number;
  /** A sentence: what was wrong, where, and what would be right. */
  readonly message: string;
  readonly details: ErrorDetails;

  /**
   * Throws a TypeError for a code that is none.
   *
   * @param code the name of an error of the registry, its number, such as 40400, or an HTTP status.
   */
  constructor(code: ErrorCode | number, message: string, details: ErrorDetails = {}) {
    this.code = typeof code === "number" ? codeOf(code) : code;
    this.message = message;
    this.details = details;
    if (entryOf(this.code) === undefined)
      throw new TypeError(`${code} is no error; use a name or a number of the table, or an HTTP status`);
  }
}

/** The code with a number, which may be an HTTP status. */
function codeOf(number: number): ErrorCode | number {
  const error = number < 1_000 ? number * 100 : number;
  const found = Object.entries(errorRegistry).find(([, entry]) => entry.error === error);
  return found === undefined ? error : (found[0] as ErrorCode);
}

/** The number of the error that a request ended with; undefined if it ended with none. */
export function errorNumber(result: string | number): number | undefined {
  if (typeof result === "number") return result;
  return isErrorCode(result) ? errorRegistry[result].error : undefined;
}

/** The number of an error, and what errors with its code have in common. */
export function entryOf(code: ErrorCode | number): { readonly error: number; readonly meaning: string } {
  if (typeof code !== "number") return errorRegistry[code];
  const isError = Number.isInteger(code) && code >= 40_000 && code < 60_000;
  return (isError ? { error: code, meaning: "The operation was not carried out" } : undefined) as never;
}

/** The HTTP status of an error code. */
export function statusOf(code: ErrorCode | number): number {
  return Math.trunc(entryOf(code).error / 100);
}

/** `invalidToken`, with the reason and what to do about it in one sentence. */
export function invalidToken(reason: string): ApiError {
  return new ApiError("invalidToken", `The bearer token is not accepted: ${reason}`);
}

/**
 * `unavailable`, with the action that failed, and Retry-After.
 *
 * @param isRepeatable whether the request can be sent again without doing anything twice.
 */
export function unavailable(failedAction: string, isRepeatable = true): ApiError {
  const retryAfterSeconds = 1;
  const message = isRepeatable
    ? `${failedAction}; retrying in ${retryAfterSeconds} second is safe.`
    : `${failedAction}; look whether something was done before you send it again.`;
  return new ApiError("unavailable", message, { retryAfterSeconds });
}

/**
 * The error of a request that ended with an exception.
 *
 * @param isRepeatable whether the request can be sent again without doing anything twice.
 */
export function internalError(isRepeatable = true): ApiError {
  const advice = isRepeatable ? " Sending the request again is safe." : "";
  return new ApiError("internalError", `Internal error; the server's log has the details.${advice}`);
}
