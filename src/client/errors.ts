// What a create can fail with, each kind a class of its own.

/** The server refused the plant, and `message` is its sentence on why. */
export class PlantStoreError extends Error {
  override readonly name = "PlantStoreError";
  /** The Error's `error`: the HTTP status times 100 plus a detail, such as 40009 for an id that is taken. */
  readonly code: number;
  /** The HTTP status. */
  readonly status: number;
  /** What Retry-After asked for, in milliseconds; undefined if it asked for nothing. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    answer: { readonly code: number; readonly status: number; readonly retryAfterMs: number | undefined },
  ) {
    super(message);
    this.code = answer.code;
    this.status = answer.status;
    this.retryAfterMs = answer.retryAfterMs;
  }
}

/**
 * There was an answer, but not one of the contract's: an HTML page of a proxy, a redirect, a 200 without a Plant.
 * The plant may be stored; creating it again is safe.
 */
export class PlantStoreInvalidResponseError extends Error {
  override readonly name = "PlantStoreInvalidResponseError";
  /** The HTTP status; 0 where a browser hides it, as it does a redirect's. */
  readonly status: number;
  /** The Content-Type, or "" if there was none. */
  readonly contentType: string;
  /** What Retry-After asked for, in milliseconds; undefined if it asked for nothing. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    answer: {
      readonly status: number;
      readonly contentType: string;
      readonly retryAfterMs: number | undefined;
    },
  ) {
    super(message);
    this.status = answer.status;
    this.contentType = answer.contentType;
    this.retryAfterMs = answer.retryAfterMs;
  }
}

/**
 * There was no answer: no connection, or one that broke. `cause` is what fetch threw. The plant may be stored;
 * creating it again is safe.
 */
export class PlantStoreNetworkError extends Error {
  override readonly name = "PlantStoreNetworkError";
}

/** There was no whole answer in time. The plant may be stored; creating it again is safe. */
export class PlantStoreTimeoutError extends Error {
  override readonly name = "PlantStoreTimeoutError";
}
