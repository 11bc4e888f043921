// The registry of everything that a client can be refused for: one entry a code, and the types derive from it.

/** Every error of the public interface. `error` is the HTTP status times 100 plus a detail. */
export const errorRegistry = {
  badRequest: { error: 40000, meaning: "The Content-Length is not one decimal number" },
  invalidJson: { error: 40001, meaning: "The body is not JSON in UTF-8" },
  invalidPlant: { error: 40002, meaning: "The body is not a NewPlant" },
  unstorableText: { error: 40003, meaning: "A string holds a character that cannot be stored" },
  conflict: { error: 40009, meaning: "The id already holds a different plant" },
  missingToken: { error: 40100, meaning: "No credentials" },
  invalidToken: { error: 40101, meaning: "The credentials are not accepted" },
  notFound: { error: 40400, meaning: "No such path" },
  methodNotAllowed: { error: 40500, meaning: "The method is not offered there" },
  requestTimeout: { error: 40800, meaning: "The body did not arrive in time" },
  contentTooLarge: { error: 41300, meaning: "The body is over the limit" },
  unsupportedMediaType: { error: 41500, meaning: "The Content-Type is missing or not application/json" },
  tooManyRequests: { error: 42900, meaning: "Over this token's rate" },
  fault: { error: 50000, meaning: "A fault of the service; details are only in its log" },
  unavailable: {
    error: 50300,
    meaning: "Overloaded, or the store or the identity provider cannot be reached; retrying is safe",
  },
} as const;

export type ErrorCode = keyof typeof errorRegistry;

/** What a refusal says beside its message, as header fields. */
interface ErrorDetails {
  /** How long the client is asked to wait before it tries again. */
  readonly retryAfterSeconds?: number;
  /** The methods that the path offers. */
  readonly allow?: string;
}

/** A refusal as a value: what the client did, or met, that its request could not be accepted for. */
export class ApiError {
  readonly code: ErrorCode;
  /** A sentence: what was wrong, where, and what would be right. */
  readonly message: string;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    this.code = code;
    this.message = message;
    this.details = details;
  }
}

/** The HTTP status of an error code. */
export function statusOf(code: ErrorCode): number {
  return Math.trunc(errorRegistry[code].error / 100);
}

/** An `unavailable` that says what could not be done, and that trying again is safe. */
export function unavailable(what: string): ApiError {
  const retryAfterSeconds = 1;
  const message = `${what}; retrying in ${retryAfterSeconds} second is safe.`;
  return new ApiError("unavailable", message, { retryAfterSeconds });
}
