// The errors of createPlant.

/** The server rejected the plant. `message` is the server's. */
export class PlantStoreError extends Error {
  override readonly name = "PlantStoreError";
  /** The Error's `error`: the HTTP status times 100 plus a detail, such as 40009 for an id that is taken. */
  readonly code: number;
  /** The HTTP status. */
  readonly status: number;
  /** The delay of Retry-After, in milliseconds; undefined without one. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    details: { readonly code: number; readonly status: number; readonly retryAfterMs: number | undefined },
  ) {
    super(message);
    this.code = details.code;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/**
 * The response is not one of the Plant Store: an HTML page of a proxy, a redirect, a 200 without a Plant. The plant may
 * have been stored; creating it again is safe.
 */
export class PlantStoreInvalidResponseError extends Error {
  override readonly name = "PlantStoreInvalidResponseError";
  /** The HTTP status; 0 if a browser hides it, as for a redirect. */
  readonly status: number;
  /** The Content-Type; "" without one. */
  readonly contentType: string;
  /** The delay of Retry-After, in milliseconds; undefined without one. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    details: {
      readonly status: number;
      readonly contentType: string;
      readonly retryAfterMs: number | undefined;
    },
  ) {
    super(message);
    this.status = details.status;
    this.contentType = details.contentType;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/**
 * No response: the connection failed or was closed. `cause` is the error of fetch. The plant may have been stored;
 * creating it again is safe.
 */
export class PlantStoreNetworkError extends Error {
  override readonly name = "PlantStoreNetworkError";
}

/** No complete response in time. The plant may have been stored; creating it again is safe. */
export class PlantStoreTimeoutError extends Error {
  override readonly name = "PlantStoreTimeoutError";
}

/** The error of a failed attempt. */
export type AttemptError =
  | PlantStoreError
  | PlantStoreInvalidResponseError
  | PlantStoreNetworkError
  | PlantStoreTimeoutError;
