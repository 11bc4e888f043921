// Limits the rate of each caller, and tells it in RateLimit fields
// (draft-ietf-httpapi-ratelimit-headers).

import type { Caller } from "../auth/caller.ts";
import { BoundedMap } from "../base/bounded-map.ts";
import { ApiError } from "../base/errors.ts";
import type { Clock } from "../base/server-event.ts";

/** The name of the policy in both fields. */
const policyName = '"token"';

/** 15 MB, at some 150 bytes a window. Beyond it the caller whose window began first starts anew. */
const windowsMax = 100_000;

/** The requests of one caller in its window. */
interface Window {
  requests: number;
  readonly endsAt: number;
}

export interface RateLimitResult {
  /** The value of RateLimit-Policy: the quota of a caller, and its window in whole seconds. */
  readonly policy: string;
  /** The value of RateLimit: the requests that remain in the window, and the seconds to its end. */
  readonly field: string;
  /** tooManyRequests where the request exceeds the burst. */
  readonly error: ApiError | undefined;
}

export class RateLimit {
  readonly #policy: string;
  readonly #requestsPerSecond: number;
  readonly #burst: number;
  readonly #windowMs: number;
  readonly #now: Clock;
  /** Keyed by caller. */
  readonly #windows = new BoundedMap<string, Window>(windowsMax);

  /**
   * Counts each caller separately, in the memory of this server. `burst` requests are allowed in a
   * window that is as long as the rate needs for them: 10 a second with a burst of 50 are 50 in
   * each 5 seconds.
   */
  constructor(limits: { readonly requestsPerSecond: number; readonly burst: number }, now: Clock) {
    this.#requestsPerSecond = limits.requestsPerSecond;
    this.#burst = limits.burst;
    this.#windowMs = (limits.burst / limits.requestsPerSecond) * 1_000;
    this.#now = now;
    this.#policy = `${policyName};q=${limits.burst};w=${Math.ceil(this.#windowMs / 1_000)}`;
  }

  /** Counts one request of a caller, or several as one. */
  consume({ key }: Pick<Caller, "key">, requests = 1): RateLimitResult {
    // Whole milliseconds, so that sums and differences of times are exact.
    const now = Math.floor(this.#now());
    const window = this.#getWindow(key, now);
    window.requests += requests;
    const remaining = Math.max(0, this.#burst - window.requests);
    const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1_000));
    const field = `${policyName};r=${remaining};t=${seconds}`;
    const error = window.requests > this.#burst ? this.#tooManyRequests(seconds) : undefined;
    return { policy: this.#policy, field, error };
  }

  /** Forgets what callers have sent. */
  reset(): void {
    this.#windows.clear();
  }

  #getWindow(key: string, now: number): Window {
    const known = this.#windows.get(key);
    if (known !== undefined && now < known.endsAt) return known;
    const window = { requests: 0, endsAt: now + this.#windowMs };
    this.#windows.set(key, window);
    return window;
  }

  #tooManyRequests(retryAfterSeconds: number): ApiError {
    const unit = retryAfterSeconds === 1 ? "second" : "seconds";
    const message =
      `The rate limit of ${this.#requestsPerSecond} requests a second is exceeded; ` +
      `try again in ${retryAfterSeconds} ${unit}.`;
    return new ApiError("tooManyRequests", message, { retryAfterSeconds });
  }
}
