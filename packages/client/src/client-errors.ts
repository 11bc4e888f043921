// The errors of calls.

interface ResponseDetails {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
}

/** An HTTP response that is not a success. */
export class ResponseError extends Error {
  /** The HTTP status; 0 if a browser hides it, as for a redirect. */
  readonly status: number;
  /** The seconds of Retry-After, in milliseconds; undefined without them. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { status, retryAfterMs }: ResponseDetails) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server rejected the call. `message` is the server's. */
export class PlantStoreError extends ResponseError {
  override readonly name = "PlantStoreError";
  /** The Error's `error`: the HTTP status times 100 plus a detail, such as 40009. */
  readonly code: number;

  constructor(message: string, details: ResponseDetails & { readonly code: number }) {
    super(message, details);
    this.code = details.code;
  }
}

/**
 * The response is not the Plant Store's: a page of a proxy, a redirect, a 200 without a Plant. The
 * call may have had its effect; calling again is safe.
 */
export class PlantStoreInvalidResponseError extends ResponseError {
  override readonly name = "PlantStoreInvalidResponseError";
  /** The Content-Type; "" without one. */
  readonly contentType: string;

  constructor(message: string, details: ResponseDetails & { readonly contentType: string }) {
    super(message, details);
    this.contentType = details.contentType;
  }
}

/**
 * No response: the connection failed or was closed. `cause` is the error of fetch. The call may
 * have had its effect; calling again is safe.
 */
export class PlantStoreNetworkError extends Error {
  override readonly name = "PlantStoreNetworkError";
}

/** No complete response in time. The call may have had its effect; calling again is safe. */
export class PlantStoreTimeoutError extends Error {
  override readonly name = "PlantStoreTimeoutError";
}

/** The error of a failed attempt. */
export type AttemptError =
  | PlantStoreError
  | PlantStoreInvalidResponseError
  | PlantStoreNetworkError
  | PlantStoreTimeoutError;
