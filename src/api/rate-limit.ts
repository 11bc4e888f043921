// How many creates a caller may send: RateLimit fields as draft-ietf-httpapi-ratelimit-headers-11 has them.

import type { Caller } from "../auth/caller.ts";
import { ApiError } from "../contract/errors.ts";
import type { Clock } from "../observability/server-event.ts";
import type { PublicRequestRecord } from "./request-record.ts";

/** The name of the policy in its fields. */
const policyName = '"token"';

/** At some 150 bytes each 30 MB, as there are two generations. */
const windowsMax = 100_000;

/** What a caller has sent since its window began. */
interface Window {
  creates: number;
  /** By the clock of the limit. */
  readonly endsAt: number;
}

export class RateLimit {
  /** The RateLimit-Policy field: the quota of a caller, and the window that it is for, in whole seconds. */
  readonly policy: string;
  readonly #createsPerSecond: number;
  readonly #burst: number;
  readonly #windowMs: number;
  readonly #now: Clock;
  readonly #windowsMax: number;
  /**
   * Windows in two generations, so that those which are over are forgotten without a timer or a search: a generation is as
   * long as a window, and when a third one begins every window of the first is over.
   */
  #current = new Map<string, Window>();
  #previous = new Map<string, Window>();
  #currentEndsAt = Number.NEGATIVE_INFINITY;

  /**
   * Counts each caller by itself, in the memory of this server. `burst` creates may come at once, in a window that is
   * as long as the rate needs for them: 10 a second with a burst of 50 are 50 in each 5 seconds.
   *
   * @param limits `windowsMax`: callers that a generation of windows has at the most. One more, and the generation before
   * it is forgotten, so that its callers begin anew.
   */
  constructor(
    limits: { readonly createsPerSecond: number; readonly burst: number; readonly windowsMax?: number },
    now: Clock,
  ) {
    this.#createsPerSecond = limits.createsPerSecond;
    this.#burst = limits.burst;
    this.#windowMs = (limits.burst / limits.createsPerSecond) * 1_000;
    this.#windowsMax = limits.windowsMax ?? windowsMax;
    this.#now = now;
    this.policy = `${policyName};q=${limits.burst};w=${Math.ceil(this.#windowMs / 1_000)}`;
  }

  /** Counts one create of a caller, and notes what is left to it: tooManyRequests if it was one too many, else undefined. */
  consume({ key }: Caller, exchange: PublicRequestRecord): ApiError | undefined {
    // Whole milliseconds, so that the sum and the difference of two times are exact.
    const now = Math.floor(this.#now());
    const window = this.#windowOf(key, now);
    window.creates++;
    const left = Math.max(0, this.#burst - window.creates);
    const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1_000));
    exchange.rateLimit = `${policyName};r=${left};t=${seconds}`;
    return window.creates > this.#burst ? this.#tooManyRequests(seconds) : undefined;
  }

  #windowOf(key: string, now: number): Window {
    const known = this.#current.get(key) ?? this.#previous.get(key);
    if (known !== undefined && now < known.endsAt) return known;
    if (now >= this.#currentEndsAt || this.#current.size >= this.#windowsMax) {
      this.#previous = this.#current;
      this.#current = new Map();
      this.#currentEndsAt = now + this.#windowMs;
    }
    const window = { creates: 0, endsAt: now + this.#windowMs };
    this.#current.set(key, window);
    return window;
  }

  #tooManyRequests(retryAfterSeconds: number): ApiError {
    const unit = retryAfterSeconds === 1 ? "second" : "seconds";
    const message =
      `This token is over its rate of ${this.#createsPerSecond} creates a second; ` +
      `try again in ${retryAfterSeconds} ${unit}.`;
    return new ApiError("tooManyRequests", message, { retryAfterSeconds });
  }
}
