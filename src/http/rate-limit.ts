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

/** The creates of one caller in its window. */
interface Window {
  creates: number;
  readonly endsAt: number;
}

export interface RateLimitResult {
  /** The value of RateLimit-Policy: the quota of a caller, and its window in whole seconds. */
  readonly policy: string;
  /** The value of RateLimit: the creates that remain in the window, and the seconds to its end. */
  readonly field: string;
  /** tooManyRequests where the create exceeds the burst. */
  readonly error: ApiError | undefined;
}

export class RateLimit {
  readonly #policy: string;
  readonly #createsPerSecond: number;
  readonly #burst: number;
  readonly #windowMs: number;
  readonly #now: Clock;
  /** Keyed by caller. */
  readonly #windows = new BoundedMap<string, Window>(windowsMax);

  /**
   * Counts each caller separately, in the memory of this server. `burst` creates are allowed in a
   * window that is as long as the rate needs for them: 10 a second with a burst of 50 are 50 in
   * each 5 seconds.
   */
  constructor(limits: { readonly createsPerSecond: number; readonly burst: number }, now: Clock) {
    this.#createsPerSecond = limits.createsPerSecond;
    this.#burst = limits.burst;
    this.#windowMs = (limits.burst / limits.createsPerSecond) * 1_000;
    this.#now = now;
    this.#policy = `${policyName};q=${limits.burst};w=${Math.ceil(this.#windowMs / 1_000)}`;
  }

  /** Counts one create of a caller, or several as one. */
  consume({ key }: Pick<Caller, "key">, creates = 1): RateLimitResult {
    // Whole milliseconds, so that sums and differences of times are exact.
    const now = Math.floor(this.#now());
    const window = this.#getWindow(key, now);
    window.creates += creates;
    const remaining = Math.max(0, this.#burst - window.creates);
    const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1_000));
    const field = `${policyName};r=${remaining};t=${seconds}`;
    const error = window.creates > this.#burst ? this.#tooManyRequests(seconds) : undefined;
    return { policy: this.#policy, field, error };
  }

  /** Forgets what callers have created. */
  reset(): void {
    this.#windows.clear();
  }

  #getWindow(key: string, now: number): Window {
    const known = this.#windows.get(key);
    if (known !== undefined && now < known.endsAt) return known;
    const window = { creates: 0, endsAt: now + this.#windowMs };
    this.#windows.set(key, window);
    return window;
  }

  #tooManyRequests(retryAfterSeconds: number): ApiError {
    const unit = retryAfterSeconds === 1 ? "second" : "seconds";
    const message =
      `The rate limit of ${this.#createsPerSecond} creates a second is exceeded; ` +
      `try again in ${retryAfterSeconds} ${unit}.`;
    return new ApiError("tooManyRequests", message, { retryAfterSeconds });
  }
}
